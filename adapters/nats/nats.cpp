// NATS through its server, with the C client of its makers: a subject per channel.
//
// Connection. A participant has one, to the server at `port` of its own host, as a client would. An ended connection is
// an error; nothing connects again behind Dyno's back, unless the stack asks for it (`reconnect`), as those do that are measured
// through outages.
//
// Sending. natsConnection_Publish copies the message into the connection's buffer. With `send_asap` the caller writes it to
// the socket at once, and waits where that is full; without, the library's flusher thread does, with what came meanwhile.
//
// Receiving. A thread of the library's reads the socket and puts messages into the subscription's queue, from which
// natsSubscription_NextMsg takes them, or a thread of that subscription calls back.
//
// Calls. natsConnection_PublishRequest with a subject for the reply, to which the provider publishes the response: what
// natsConnection_Request does, without its wait.
//
// Losses. NATS delivers at most once: the library drops what finds more than `pending` messages in a subscription's
// queue, and the server cuts off a receiver for which it holds more than `max_pending` bytes.
#include "ends.hpp"
#include "operations.hpp"

namespace {

constexpr dyno_option_spec OPTIONS[] = {
    {"port", DYNO_OPTION_INT, 65'535, nullptr, "14222", "the port of the server on each participant's host"},
    {"pending", DYNO_OPTION_INT, 0, nullptr, "65536",
     "messages that the library keeps for a subscription; further ones are dropped; the library's default: 65536"},
    {"reconnect", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "connect again after a connection has ended, with the library's defaults: every 2 s, at most 60 times"},
    {"send_asap", DYNO_OPTION_BOOL, 0, nullptr, "true",
     "true: a send writes to the socket; false: a thread of the library does, the library's default"},
    {"send_timeout_ms", DYNO_OPTION_INT, 3'600'000, nullptr, "10000",
     "how long a send waits for room in the socket before it fails, in ms; 0: without limit, the library's default"},
    {"tls", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "the connection is encrypted; the server's certificate is server.crt in the trial's scratch directory"},
};

const dyno_description *describe() {
    static const dyno_description description = [] {
        dyno_description d = {};
        d.name = "nats";
        d.version = nats_GetVersion();
        d.summary = "NATS through its server, with its C client: subjects over one TCP connection of each participant.";
        // The most that a server can be told to take: it holds max_payload below max_pending, 64 MiB.
        d.max_message = UINT64_C(64) << 20;
        d.option_count = sizeof OPTIONS / sizeof OPTIONS[0];
        d.options = OPTIONS;
        return d;
    }();
    return &description;
}

constexpr dyno_adapter_ops OPS =
    dyno::operations<dyno_node, dyno_sender, dyno_receiver, dyno_subscription>(
        DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT | DYNO_CAN_CALL |
            DYNO_CAN_THREAD | DYNO_CAN_PROCESS | DYNO_CAN_HOST,
        describe);

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
