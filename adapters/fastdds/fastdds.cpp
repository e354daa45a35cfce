// eProsima Fast DDS behind Dyno's ABI.
//
// What it does: a node is a DomainParticipant, a sender a DataWriter, a receiver or subscription a
// DataReader, a channel a topic. Message types: octets.hpp. Transports: `udp` is UDPv4 alone, bound to
// the host's address; `shm` the library's shared-memory transport alone; `data-sharing` adds histories
// in shared memory that readers read in place, over the shared-memory transport for all else.
//
// Copies: a `sequence` is serialized by write and deserialized by take, as the library's generated
// types are. An `array` is plain: loan_sample lends the memory that is sent, and take lends it where it
// arrived; with data sharing that is the same memory.
//
// Discovery: without multicast on a loopback address and in shared memory; ports follow from the
// session's name (node.cpp). Participants of one process use the transport too unless `intraprocess`.
// The library is known either at once or some 170 ms later: it announces itself before it listens, and
// an answer that comes too soon is lost and repeated only with the next announcement.
//
// Waits: spin is take alone; block is take and wait_for_unread_message, at most DYNO_PATIENCE_MS;
// callback is on_data_available with takes until nothing is left, on the library's receiving thread.
//
// Room: a reliable writer that keeps all waits in write until readers have acknowledged, for
// `send_timeout_ms`, then the message is refused. A reader that was killed counts until its lease ends.
//
// Fragments: the adapter cuts nothing up; the library does above `datagram`.
//
// What it leaves: nothing after a close. After a crash the files in /dev/shm are those claimed: ports
// and shared histories before they are created; the participant's segment, whose name the library
// draws at random, right after.
//
// Calls: none of its own; a pair of topics.
#include "ends.hpp"
#include "node.hpp"
#include "options.hpp"

#include "dyno_adapter.hpp"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace {

// The version that the file of the loaded library bears, as in libfastrtps.so.2.9.1: the library has no
// call that reports it.
std::string loaded_version() {
    Dl_info info;
    char path[PATH_MAX];
    const void *inside = reinterpret_cast<const void *>(&edds::DomainParticipantFactory::get_instance);
    if (dladdr(inside, &info) != 0 && realpath(info.dli_fname, path) != nullptr) {
        const std::string file = path;
        const size_t at = file.rfind(".so.");
        if (at != std::string::npos) {
            return file.substr(at + 4);
        }
    }
#if DYNO_FASTDDS_3
    return FASTDDS_VERSION_STR " (of its headers)";
#else
    return FASTRTPS_VERSION_STR " (of its headers)";
#endif
}

const dyno_description *describe() {
    static const std::string version = loaded_version();
    static const dyno_description description = {
        "fastdds",
        version.c_str(),
        "eProsima Fast DDS over UDP, its shared-memory transport, or data sharing; memory is loaned with "
        "`type = \"array\"`, which data sharing implies, else samples are serialized as its generated types are",
        0,
        0,
        0,
        OPTION_COUNT,
        OPTIONS,
        nullptr,
    };
    return &description;
}

// Runs a constructor and hands over what it made.
template <typename Made, typename... From> dyno_status make(const char *call, Made **made, From &&...from) {
    return dyno::guarded(call, [&] {
        *made = new Made(std::forward<From>(from)...);
        return DYNO_OK;
    });
}

dyno_status open_node(const dyno_context *context, dyno_node **node) { return make("open", node, *context); }
void close_node(dyno_node *node) { delete node; }

dyno_status sender_open(dyno_node *node, const dyno_channel *channel, dyno_sender **sender) {
    return make("sender_open", sender, *node, *channel);
}
void sender_close(dyno_sender *sender) { delete sender; }
dyno_status sender_matched(dyno_sender *sender, uint32_t *receivers) {
    return dyno::guarded("sender_matched", [&] {
        *receivers = sender->matched();
        return DYNO_OK;
    });
}
dyno_status loan(dyno_sender *sender, size_t length, void **buffer) {
    return dyno::guarded("loan", [&] { return sender->loan(length, buffer); });
}
dyno_status send(dyno_sender *sender, void *buffer, size_t length) {
    return dyno::guarded("send", [&] { return sender->send(buffer, length); });
}

dyno_status receiver_open(dyno_node *node, const dyno_channel *channel, int32_t wait, dyno_receiver **receiver) {
    return make("receiver_open", receiver, *node, *channel, wait);
}
void receiver_close(dyno_receiver *receiver) { delete receiver; }
dyno_status receiver_matched(dyno_receiver *receiver, uint32_t *matched) {
    return dyno::guarded("receiver_matched", [&] {
        *matched = receiver->reader.matched();
        return DYNO_OK;
    });
}
dyno_status take(dyno_receiver *receiver, dyno_on_message on_message, void *user) {
    return dyno::guarded("take", [&] { return receiver->take(on_message, user); });
}

dyno_status subscribe(dyno_node *node, const dyno_channel *channel, dyno_on_message on_message, void *user,
                      dyno_subscription **subscription) {
    return make("subscribe", subscription, *node, *channel, on_message, user);
}
void subscription_close(dyno_subscription *subscription) { delete subscription; }
dyno_status subscription_matched(dyno_subscription *subscription, uint32_t *matched) {
    return dyno::guarded("subscription_matched", [&] {
        *matched = subscription->matched();
        return DYNO_OK;
    });
}

const dyno_adapter_ops OPS = {
    DYNO_ABI_VERSION,
    sizeof(dyno_adapter_ops),
    DYNO_CAN_LOAN | DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT |
        DYNO_CAN_THREAD | DYNO_CAN_PROCESS | DYNO_CAN_HOST,
    describe,
    dyno::last_error_text,
    open_node,
    close_node,
    sender_open,
    sender_close,
    sender_matched,
    loan,
    send,
    receiver_open,
    receiver_close,
    receiver_matched,
    take,
    subscribe,
    subscription_close,
    subscription_matched,
    nullptr, // loan and send instead
};

} // namespace

extern "C" DYNO_EXPORT const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
