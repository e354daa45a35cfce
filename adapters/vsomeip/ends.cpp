#include "ends.hpp"
#include "ids.hpp"

#include <limits>

namespace dyno_vsomeip {

Buffer::Buffer(uint64_t max_payload) : payload_(vsomeip::runtime::get()->create_payload()) {
    // SOME/IP counts the bytes of a message, with half of its header, in 32 bits.
    if (max_payload > std::numeric_limits<vsomeip::length_t>::max() - 64) {
        throw dyno::Error(DYNO_UNSUPPORTED, "SOME/IP messages are smaller than 4 GiB");
    }
    blank_.resize(max_payload);
    payload_->set_capacity(static_cast<vsomeip::length_t>(max_payload));
}

void *Buffer::lend(size_t length) {
    if (length > blank_.size()) {
        throw dyno::Error(DYNO_ERROR, std::to_string(length) + " bytes are more than the channel's largest message");
    }
    if (payload_->get_length() != length) {
        // The only way to change a payload's length within its memory is to copy something there.
        payload_->set_data(blank_.data(), static_cast<vsomeip::length_t>(length));
    }
    return payload_->get_data();
}

namespace {

// Subscribers of other hosts all come under the number of the routing manager.
constexpr vsomeip::client_t REMOTE = 0;

vsomeip::reliability_type_e reliability(const Node &node) {
    return node.reliable() ? vsomeip::reliability_type_e::RT_RELIABLE : vsomeip::reliability_type_e::RT_UNRELIABLE;
}

} // namespace

EventSender::EventSender(Node &node, const dyno_channel &channel)
    : service_(node.service(channel)), application_(node.seat(channel).application()),
      subscribers_(std::make_shared<Subscribers>()), buffer_(channel.max_payload) {
    application_->register_async_subscription_handler(
        service_, INSTANCE, EVENTGROUP,
        [subscribers = subscribers_](vsomeip::client_t client, const vsomeip_sec_client_t *, const std::string &,
                                     bool subscribed, std::function<void(bool)> accept) {
            // A subscriber counts once the library sends to it, which begins within `accept`.
            accept(true);
            const std::lock_guard<std::mutex> lock(subscribers->mutex);
            if (client == REMOTE) {
                subscribers->remote += subscribed ? 1 : subscribers->remote > 0 ? -1 : 0;
            } else if (subscribed) {
                subscribers->local.insert(client);
            } else {
                subscribers->local.erase(client);
            }
        });
    application_->offer_event(service_, INSTANCE, EVENT, {EVENTGROUP}, vsomeip::event_type_e::ET_EVENT,
                              std::chrono::milliseconds::zero(), false, true, nullptr, reliability(node));
    application_->offer_service(service_, INSTANCE);
}

EventSender::~EventSender() {
    application_->unregister_subscription_handler(service_, INSTANCE, EVENTGROUP);
    application_->stop_offer_event(service_, INSTANCE, EVENT);
    application_->stop_offer_service(service_, INSTANCE);
}

uint32_t EventSender::matched() {
    const std::lock_guard<std::mutex> lock(subscribers_->mutex);
    return subscribers_->remote + static_cast<uint32_t>(subscribers_->local.size());
}

void EventSender::send() {
    // Forced: also when the payload is the same as the last one.
    application_->notify(service_, INSTANCE, EVENT, buffer_.payload(), true);
}

EventReader::EventReader(Node &node, const dyno_channel &channel, dyno_on_message on_message, void *user)
    : EventReader(node, node.service(channel), node.seat(channel), on_message, user) {}

EventReader::EventReader(const Node &node, vsomeip::service_t service, const Seat &seat, dyno_on_message on_message,
                         void *user)
    : service_(service), application_(seat.application()), state_(std::make_shared<State>(seat)) {
    state_->gate.open(on_message, user);
    application_->register_message_handler(
        service_, INSTANCE, EVENT,
        [state = state_](const std::shared_ptr<vsomeip::message> &message) { state->gate.deliver(message); });
    application_->register_availability_handler(
        service_, INSTANCE, [state = state_](vsomeip::service_t, vsomeip::instance_t, bool available) {
            state->available = available;
            if (!available) {
                state->accepted = false;
            }
        });
    application_->register_subscription_status_handler(
        service_, INSTANCE, EVENTGROUP, vsomeip::ANY_EVENT,
        [state = state_](vsomeip::service_t, vsomeip::instance_t, vsomeip::eventgroup_t, vsomeip::event_t,
                         uint16_t error) { state->accepted = error == 0; });
    application_->request_event(service_, INSTANCE, EVENT, {EVENTGROUP}, vsomeip::event_type_e::ET_EVENT,
                                reliability(node));
    application_->request_service(service_, INSTANCE);
    application_->subscribe(service_, INSTANCE, EVENTGROUP);
}

EventReader::~EventReader() {
    application_->unregister_message_handler(service_, INSTANCE, EVENT);
    application_->unregister_availability_handler(service_, INSTANCE);
    application_->unregister_subscription_status_handler(service_, INSTANCE, EVENTGROUP, vsomeip::ANY_EVENT);
    state_->gate.close();
    application_->unsubscribe(service_, INSTANCE, EVENTGROUP);
    application_->release_event(service_, INSTANCE, EVENT);
    application_->release_service(service_, INSTANCE);
}

} // namespace dyno_vsomeip
