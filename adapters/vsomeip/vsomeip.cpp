// The adapter for vsomeip (SOME/IP).
//
// A channel is a service with one event: its sender offers it, its receivers request it and
// subscribe. A call is a service with one method. The participants of a process share one vsomeip application, as
// a program on an ECU is one; two ends of the same channel have one each (seat.hpp).
//
// Waiting: vsomeip reports messages from a thread of its own and has no other way to receive, so there
// are subscriptions only. Each application has a single such thread: it reports message by message. A callback that
// holds it up gets a thread of its own where participants share it (gate.hpp).
//
// Sending: the library copies each message once or twice and puts it into a queue of its own for each
// receiver, without a limit unless the stack sets one; it never waits and does not tell when a message
// is lost.
//
// Large messages: within a host nothing cuts them up. Between hosts over UDP vsomeip cuts them up itself
// (SOME/IP-TP); the requests of calls, which it cannot cut up without knowing the provider's address
// beforehand, then end at 1400 bytes.
//
// Routing: an application of its own in the first participant's process, the daemon routingmanagerd, or,
// between hosts, the first application of each host.
//
// Traces: sockets, the lock file of the routing manager and configuration files lie in the scratch
// directory and are removed with the application.
#include "calls.hpp"
#include "library.hpp"

namespace {

using namespace dyno_vsomeip;


Node &of(dyno_node *node) { return *reinterpret_cast<Node *>(node); }

const dyno_description *describe() {
    static const std::string version = library_version();
    static const dyno_description description = [] {
        dyno_description d{};
        d.name = "vsomeip";
        d.version = version.c_str();
        d.summary = "SOME/IP events and methods over vsomeip: Unix sockets within a host, UDP (with SOME/IP-TP) "
                    "or TCP between hosts. The adapter adds no copy and no queue.";
        d.option_count = static_cast<uint32_t>(option_specs().size());
        d.options = option_specs().data();
        return d;
    }();
    return &description;
}

dyno_status open_node(const dyno_context *context, dyno_node **node) {
    return dyno::guarded("open", [&] {
        *node = reinterpret_cast<dyno_node *>(new Node(*context));
        return DYNO_OK;
    });
}

void close_node(dyno_node *node) { delete &of(node); }

dyno_status sender_open(dyno_node *node, const dyno_channel *channel, dyno_sender **sender) {
    return dyno::guarded("sender_open", [&] {
        switch (channel->carries) {
        case DYNO_CARRIES_REQUESTS:
            *sender = new RequestSender(of(node), *channel);
            break;
        case DYNO_CARRIES_RESPONSES:
            *sender = new ResponseSender(of(node), *channel);
            break;
        default:
            *sender = new EventSender(of(node), *channel);
        }
        return DYNO_OK;
    });
}

void sender_close(dyno_sender *sender) { delete sender; }

dyno_status sender_matched(dyno_sender *sender, uint32_t *receivers) {
    return dyno::guarded("sender_matched", [&] {
        *receivers = sender->matched();
        return DYNO_OK;
    });
}

dyno_status loan(dyno_sender *sender, size_t length, void **buffer) {
    return dyno::guarded("loan", [&] {
        *buffer = sender->lend(length);
        return DYNO_OK;
    });
}

// `buffer` and `length` are those of the loan, which the sender remembers.
dyno_status send_message(dyno_sender *sender, void *, size_t) {
    return dyno::guarded("send", [&] {
        sender->send();
        return DYNO_OK;
    });
}

dyno_status subscribe(dyno_node *node, const dyno_channel *channel, dyno_on_message on_message, void *user,
                      dyno_subscription **subscription) {
    return dyno::guarded("subscribe", [&] {
        switch (channel->carries) {
        case DYNO_CARRIES_REQUESTS:
            *subscription = new RequestReader(of(node), *channel, on_message, user);
            break;
        case DYNO_CARRIES_RESPONSES:
            *subscription = new ResponseReader(of(node), *channel, on_message, user);
            break;
        default:
            *subscription = new EventReader(of(node), *channel, on_message, user);
        }
        return DYNO_OK;
    });
}

void subscription_close(dyno_subscription *subscription) { delete subscription; }

dyno_status subscription_matched(dyno_subscription *subscription, uint32_t *matched) {
    return dyno::guarded("subscription_matched", [&] {
        *matched = subscription->matched();
        return DYNO_OK;
    });
}

dyno_adapter_ops table() {
    dyno_adapter_ops ops{};
    ops.abi_version = DYNO_ABI_VERSION;
    ops.struct_size = sizeof ops;
    ops.capabilities = DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT | DYNO_CAN_CALL |
                       DYNO_CAN_THREAD | DYNO_CAN_PROCESS | DYNO_CAN_HOST | DYNO_SENDS_LATER;
    ops.describe = describe;
    ops.last_error = dyno::last_error_text;
    ops.open = open_node;
    ops.close = close_node;
    ops.sender_open = sender_open;
    ops.sender_close = sender_close;
    ops.sender_matched = sender_matched;
    ops.loan = loan;
    ops.send = send_message;
    ops.subscribe = subscribe;
    ops.subscription_close = subscription_close;
    ops.subscription_matched = subscription_matched;
    return ops;
}

} // namespace

DYNO_EXPORT const dyno_adapter_ops *dyno_adapter(void) {
    static const dyno_adapter_ops ops = table();
    return &ops;
}
