#include "calls.hpp"
#include "ids.hpp"

namespace dyno_vsomeip {

namespace {

// The largest payload of a request that vsomeip does not cut up, VSOMEIP_MAX_UDP_MESSAGE_SIZE without
// the header.
constexpr uint64_t LARGEST_DATAGRAM = 1400;

} // namespace

RequestSender::RequestSender(Node &node, const dyno_channel &channel)
    : service_(node.service(channel)), call_(node.call(channel)), application_(call_->seat.application()),
      buffer_(channel.max_payload), request_(vsomeip::runtime::get()->create_request(node.reliable())) {
    if (node.datagrams() && channel.max_payload > LARGEST_DATAGRAM) {
        throw dyno::Error(DYNO_UNSUPPORTED, "requests over UDP are at most " + std::to_string(LARGEST_DATAGRAM) +
                                                " bytes, but those of channel " + channel.name + " reach " +
                                                std::to_string(channel.max_payload) + "; use transport `tcp`");
    }
    request_->set_service(service_);
    request_->set_instance(INSTANCE);
    request_->set_method(METHOD);
    request_->set_payload(buffer_.payload());
    application_->register_message_handler(
        service_, INSTANCE, METHOD, [call = call_](const std::shared_ptr<vsomeip::message> &message) {
            if (message->get_message_type() == vsomeip::message_type_e::MT_RESPONSE &&
                message->get_return_code() == vsomeip::return_code_e::E_OK) {
                call->responses.deliver(message);
            }
        });
    application_->register_availability_handler(
        service_, INSTANCE,
        [call = call_](vsomeip::service_t, vsomeip::instance_t, bool available) { call->available = available; });
    application_->request_service(service_, INSTANCE);
}

RequestSender::~RequestSender() {
    application_->unregister_message_handler(service_, INSTANCE, METHOD);
    application_->unregister_availability_handler(service_, INSTANCE);
    application_->release_service(service_, INSTANCE);
    call_->available = false;
}

// The library copies the message and gives it the next session number.
void RequestSender::send() { application_->send(request_); }

ResponseReader::ResponseReader(Node &node, const dyno_channel &channel, dyno_on_message on_message, void *user)
    : call_(node.call(channel)) {
    call_->responses.open(on_message, user);
}

RequestReader::RequestReader(Node &node, const dyno_channel &channel, dyno_on_message on_message, void *user)
    : service_(node.service(channel)), call_(node.call(channel)), application_(call_->seat.application()),
      gate_(std::make_shared<Gate>(call_->seat.crowd(), [call = call_](const std::shared_ptr<vsomeip::message> &message) {
          const std::lock_guard<std::mutex> lock(call->mutex);
          call->request = message;
      })) {
    gate_->open(on_message, user);
    application_->register_message_handler(
        service_, INSTANCE, METHOD,
        [gate = gate_](const std::shared_ptr<vsomeip::message> &message) { gate->deliver(message); });
    application_->offer_service(service_, INSTANCE);
    call_->available = true;
}

RequestReader::~RequestReader() {
    call_->available = false;
    application_->unregister_message_handler(service_, INSTANCE, METHOD);
    gate_->close();
    application_->stop_offer_service(service_, INSTANCE);
}

ResponseSender::ResponseSender(Node &node, const dyno_channel &channel)
    : call_(node.call(channel)), application_(call_->seat.application()), buffer_(channel.max_payload) {}

void ResponseSender::send() {
    std::shared_ptr<vsomeip::message> request;
    {
        // Only contended when a request comes in at the same time.
        const std::lock_guard<std::mutex> lock(call_->mutex);
        request = call_->request;
    }
    if (!request) {
        throw dyno::Error(DYNO_ERROR, "a response before any request");
    }
    const auto response = vsomeip::runtime::get()->create_response(request);
    response->set_payload(buffer_.payload());
    application_->send(response);
}

} // namespace dyno_vsomeip
