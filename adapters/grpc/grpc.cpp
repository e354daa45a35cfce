// gRPC without a broker: what such a protocol costs alone, beside brokers that speak it.
//
// A reader is a server, with the library's synchronous service at the reader's port; its writer is a client of it. A
// message is one field of bytes, serialised by protobuf into the library's memory.
//
// method = "stream": a channel is one client stream; a write waits while HTTP/2's window is full. method = "unary": a
// message is a call of its own, and a send waits for the reader's answer, which comes after the message was shown.
//
// Calls are unary calls, with either method; a response is given on a thread of the library's (its callback interface).
#include "ends.hpp"
#include "operations.hpp"

using dyno::None;

namespace {

constexpr const char *METHODS[] = {"stream", "unary", nullptr};

constexpr dyno_option_spec OPTIONS[] = {
    {"method", DYNO_OPTION_ONE_OF, 0, METHODS, "stream",
     "stream: one client stream carries all messages of a channel; unary: each message is a call of its own"},
    {"send_timeout_ms", DYNO_OPTION_INT, 3'600'000, nullptr, "10000",
     "unary: how long a send waits for its answer before it fails, in ms; a stream waits as long as its reader lives"},
};

const dyno_description *describe() {
    static const std::string version = ::grpc::Version();
    static const dyno_description description = [] {
        dyno_description d = {};
        d.name = "grpc";
        d.version = version.c_str();
        d.summary = "gRPC over TCP between two participants, without TLS: client streams or unary calls.";
        // Protobuf's limit is 2 GiB for a message with all that it holds.
        d.max_message = UINT64_C(1) << 30;
        d.option_count = sizeof OPTIONS / sizeof OPTIONS[0];
        d.options = OPTIONS;
        return d;
    }();
    return &description;
}

constexpr dyno_adapter_ops OPS = dyno::operations<dyno_node, dyno_sender, None, dyno_subscription>(
    DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_CALL | DYNO_CAN_THREAD | DYNO_CAN_PROCESS | DYNO_CAN_HOST, describe);

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
