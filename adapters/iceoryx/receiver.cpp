#include "receiver.hpp"

#include "iceoryx_posh/mepoo/chunk_header.hpp"

using dyno::Error;
using iox::popo::SubscriberEvent;

namespace {

iox::popo::SubscriberOptions subscriber_options(const Settings &settings) {
    iox::popo::SubscriberOptions options;
    options.queueCapacity = settings.depth;
    options.historyRequest = settings.history;
    options.queueFullPolicy = settings.block ? iox::popo::QueueFullPolicy::BLOCK_PRODUCER
                                             : iox::popo::QueueFullPolicy::DISCARD_OLDEST_DATA;
    return options;
}

} // namespace

Subscribed::Subscribed(dyno_node &node, const dyno_channel &channel)
    : runtime_(node.runtime), subscriber_(service_of(channel), subscriber_options(node.settings)),
      service_(service_of(channel)) {}

bool Subscribed::matched() {
    if (publisher_seen_) {
        return true;
    }
    if (subscriber_.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED) {
        return false;
    }
    // A subscriber counts as subscribed without any publisher; RouDi's registry knows those there are.
    if (!discovery_) {
        discovery_ = std::make_unique<iox::runtime::ServiceDiscovery>();
    }
    discovery_->findService(
        service_.getServiceIDString(), service_.getInstanceIDString(), service_.getEventIDString(),
        [this](const iox::capro::ServiceDescription &) { publisher_seen_ = true; },
        iox::popo::MessagingPattern::PUB_SUB);
    if (publisher_seen_) {
        discovery_.reset();
    }
    return publisher_seen_;
}

bool Subscribed::take(dyno_on_message on_message, void *user) {
    auto chunk = subscriber_.take();
    if (chunk.has_error()) {
        return false;
    }
    const void *payload = chunk.value();
    on_message(user, payload, iox::mepoo::ChunkHeader::fromUserPayload(payload)->userPayloadSize());
    subscriber_.release(payload);
    return true;
}

dyno_receiver::Waiting::Waiting(dyno_node &node, const dyno_channel &channel, bool block) : Subscribed(node, channel) {
    if (!block) {
        return;
    }
    wait_set = std::make_unique<iox::popo::WaitSet<1>>();
    if (wait_set->attachEvent(subscriber_, SubscriberEvent::DATA_RECEIVED).has_error()) {
        throw Error(DYNO_ERROR, "the WaitSet does not take the subscriber");
    }
}

dyno_receiver::Waiting::~Waiting() {
    if (wait_set) {
        // Takes the lock under which a publisher wakes the subscriber.
        wait_set->detachEvent(subscriber_, SubscriberEvent::DATA_RECEIVED);
    }
}

dyno_receiver::dyno_receiver(dyno_node &node, const dyno_channel &channel, bool block)
    : waiting_(std::make_unique<Waiting>(node, channel, block)) {}

dyno_receiver::~dyno_receiver() {
    Waiting *waiting = waiting_.release();
    if (!ends([waiting] { delete waiting; })) {
        Runtime::abandon();
    }
}

dyno_status dyno_receiver::take(dyno_on_message on_message, void *user) {
    if (waiting_->take(on_message, user)) {
        return DYNO_OK;
    }
    if (!waiting_->wait_set) {
        return DYNO_NONE;
    }
    // Returns at once for messages that were taken without waiting: then there may be none.
    waiting_->wait_set->timedWait(iox::units::Duration::fromMilliseconds(DYNO_PATIENCE_MS));
    return waiting_->take(on_message, user) ? DYNO_OK : DYNO_NONE;
}

dyno_subscription::Heard::Heard(dyno_node &node, const dyno_channel &channel, dyno_on_message callback, void *context)
    : Subscribed(node, channel), on_message(callback), user(context) {
    const auto attached = listener.attachEvent(subscriber_, SubscriberEvent::DATA_RECEIVED,
                                               iox::popo::createNotificationCallback(on_data, *this));
    if (attached.has_error()) {
        throw Error(DYNO_ERROR, "the Listener does not take the subscriber");
    }
}

dyno_subscription::Heard::~Heard() {
    // Waits for the end of a callback that runs, and takes the lock under which a publisher calls.
    listener.detachEvent(subscriber_, SubscriberEvent::DATA_RECEIVED);
}

void dyno_subscription::Heard::on_data(iox::popo::UntypedSubscriber *, Heard *self) {
    // Whoever closes first sets `closed` and then looks at `calling`: one of the two sees the other.
    self->calling = true;
    // Several messages may come with one event.
    while (!self->closed && self->take(self->on_message, self->user)) {
    }
    self->calling = false;
}

dyno_subscription::dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message,
                                     void *user)
    : heard_(std::make_unique<Heard>(node, channel, on_message, user)) {}

dyno_subscription::~dyno_subscription() {
    Heard *heard = heard_.release();
    heard->closed = true;
    while (heard->calling) {
        std::this_thread::yield();
    }
    if (!ends([heard] { delete heard; })) {
        Runtime::abandon();
    }
}
