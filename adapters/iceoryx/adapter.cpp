// Eclipse iceoryx (the C++ one, "classic"): publish-subscribe in shared memory that its daemon RouDi
// owns. A channel is a service with one untyped publisher; each message is a chunk of RouDi's pools.
//
// Waits. Spinning is the subscriber's take in a loop; blocking is take, and a WaitSet where there was
// nothing; a callback is a Listener, with a thread per subscription, that takes all there is.
//
// Sending. Chunks are lent by the library and filled in place; nothing is copied or cut up. With
// `policy = "block"` a publish waits, yielding, while a subscriber's queue is full. Without a free
// chunk a message is refused. A subscriber that was killed holds a
// publisher up until RouDi notices, after 1.5 s without a sign of life.
//
// Matching. The publisher's side counts the queues that RouDi connected; the subscriber's side asks
// RouDi's registry for the publisher, since subscribers of this library never learn of it.
//
// RouDi must run before a node is opened, with pools for the largest message; stacks/iceoryx.toml
// starts one for each trial. There is one runtime per process, shared by its nodes and ended with the
// last of them.
//
// Cleaning. Each process has a socket and a lock in /tmp that carry the session's name; they are
// claimed. All shared memory is RouDi's.
#include "receiver.hpp"
#include "sender.hpp"

#include "iceoryx_posh/version/version_info.hpp"

using dyno::guarded;

namespace {

constexpr const char *POLICIES[] = {"block", "discard-oldest", nullptr};

constexpr dyno_option_spec OPTIONS[] = {
    {"policy", DYNO_OPTION_ONE_OF, 0, POLICIES, "block",
     "of a full queue. block: the publisher waits; discard-oldest: the library's own default, loses messages"},
    {"queue_depth", DYNO_OPTION_INT, iox::MAX_SUBSCRIBER_QUEUE_CAPACITY, nullptr, "16",
     "messages that a subscriber's queue holds, at most as many as the library was built for (its own default)"},
    {"history", DYNO_OPTION_INT, 0, nullptr, "0",
     "messages from before that a late subscriber gets, at most 16 and at most `queue_depth`; 0 is the library's own"},
};

// 2.0.3, as the loaded library was built.
std::string loaded_version() {
    const iox::cxx::Serialization serialized = iox::version::VersionInfo::getCurrentVersion();
    std::string version;
    for (const unsigned part : {0u, 1u, 2u}) {
        uint16_t number = 0;
        if (!serialized.getNth(part, number)) {
            return "unknown";
        }
        version += (part > 0 ? "." : "") + std::to_string(number);
    }
    return version;
}

const dyno_description *describe() {
    static const std::string version = loaded_version();
    static const dyno_description description = [] {
        dyno_description d = {};
        d.name = "iceoryx";
        d.version = version.c_str();
        d.summary = "Eclipse iceoryx (C++): publish-subscribe in shared memory, with the daemon RouDi. Messages are "
                    "as large as the chunks of RouDi's configuration, which the stack makes to measure.";
        // Chunks are below 4 GiB, header included.
        d.max_message = UINT64_C(1) << 30;
        d.option_count = sizeof OPTIONS / sizeof OPTIONS[0];
        d.options = OPTIONS;
        return d;
    }();
    return &description;
}

dyno_status open_node(const dyno_context *context, dyno_node **node) {
    return guarded("open", [&] {
        *node = new dyno_node(*context);
        return DYNO_OK;
    });
}

void close_node(dyno_node *node) { delete node; }

dyno_status open_sender(dyno_node *node, const dyno_channel *channel, dyno_sender **sender) {
    return guarded("sender_open", [&] {
        *sender = new dyno_sender(*node, *channel);
        return DYNO_OK;
    });
}

void close_sender(dyno_sender *sender) { delete sender; }

dyno_status matched_sender(dyno_sender *sender, uint32_t *receivers) {
    return guarded("sender_matched", [&] {
        *receivers = sender->matched();
        return DYNO_OK;
    });
}

dyno_status loan(dyno_sender *sender, size_t length, void **buffer) {
    return guarded("loan", [&] { return sender->loan(length, buffer); });
}

dyno_status send(dyno_sender *sender, void *buffer, size_t) {
    return guarded("publish", [&] { return sender->send(buffer); });
}

dyno_status open_receiver(dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **receiver) {
    return guarded("receiver_open", [&] {
        *receiver = new dyno_receiver(*node, *channel, wait == DYNO_WAIT_BLOCK);
        return DYNO_OK;
    });
}

void close_receiver(dyno_receiver *receiver) { delete receiver; }

dyno_status matched_receiver(dyno_receiver *receiver, uint32_t *matched) {
    return guarded("receiver_matched", [&] {
        *matched = receiver->matched();
        return DYNO_OK;
    });
}

dyno_status take(dyno_receiver *receiver, dyno_on_message on_message, void *user) {
    return guarded("take", [&] { return receiver->take(on_message, user); });
}

dyno_status subscribe(dyno_node *node, const dyno_channel *channel, dyno_on_message on_message, void *user,
                      dyno_subscription **subscription) {
    return guarded("subscribe", [&] {
        *subscription = new dyno_subscription(*node, *channel, on_message, user);
        return DYNO_OK;
    });
}

void close_subscription(dyno_subscription *subscription) { delete subscription; }

dyno_status matched_subscription(dyno_subscription *subscription, uint32_t *matched) {
    return guarded("subscription_matched", [&] {
        *matched = subscription->matched();
        return DYNO_OK;
    });
}

constexpr dyno_adapter_ops OPS = {
    DYNO_ABI_VERSION,
    sizeof(dyno_adapter_ops),
    DYNO_CAN_LOAN | DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT |
        DYNO_CAN_THREAD | DYNO_CAN_PROCESS,
    describe,
    dyno::last_error_text,
    open_node,
    close_node,
    open_sender,
    close_sender,
    matched_sender,
    loan,
    send,
    open_receiver,
    close_receiver,
    matched_receiver,
    take,
    subscribe,
    close_subscription,
    matched_subscription,
    nullptr, // loan and send instead
};

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
