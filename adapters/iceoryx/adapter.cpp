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
#include "operations.hpp"
#include "receiver.hpp"
#include "sender.hpp"

#include "iceoryx_posh/version/version_info.hpp"

namespace {

constexpr const char *POLICIES[] = {"block", "discard-oldest", nullptr};

constexpr dyno_option_spec OPTIONS[] = {
    {"policy", DYNO_OPTION_ONE_OF, 0, POLICIES, "block",
     "if a queue is full, `block` makes the publisher wait, and `discard-oldest`, the library's default, loses messages"},
    {"queue_depth", DYNO_OPTION_INT, iox::MAX_SUBSCRIBER_QUEUE_CAPACITY, nullptr, "16",
     "messages that a subscriber's queue holds; the library's default is the maximum that it was built with"},
    {"history", DYNO_OPTION_INT, 0, nullptr, "0",
     "earlier messages that a late subscriber gets, at most 16 and at most `queue_depth`; the library's default: 0"},
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
                    "at most as large as the chunks in RouDi's configuration, which the stack adapts to the payload.";
        // Chunks are below 4 GiB, header included.
        d.max_message = UINT64_C(1) << 30;
        d.option_count = sizeof OPTIONS / sizeof OPTIONS[0];
        d.options = OPTIONS;
        return d;
    }();
    return &description;
}

constexpr dyno_adapter_ops OPS = dyno::operations<dyno_node, dyno_sender, dyno_receiver, dyno_subscription>(
    DYNO_CAN_LOAN | DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT |
        DYNO_CAN_THREAD | DYNO_CAN_PROCESS,
    describe);

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
