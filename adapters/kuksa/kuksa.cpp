// Eclipse Kuksa databroker over gRPC, kuksa.val.v2: a signal per channel, from a provider through the broker to subscribers.
//
// Values. Signals have types, and none of them is bytes: a message travels as base64 in a text, four letters for three
// bytes, which keeps them all. The adapter encodes and decodes, inside the measured time. (An array of uint8 would carry a
// byte in one or two of protobuf's, and in four of the broker's.)
//
// Signals. Channel 3 of a trial is `Dyno.C3.Data` of the VSS tree that the stack file makes; `Dyno.C3.Readers` and
// `Dyno.C3.Writer` carry what its ends say of themselves before the first message. All are continuous: of others the broker
// drops a value that equals the one before.
//
// Sending. publish = "stream": OpenProviderStream with PublishValuesRequest, which the broker answers only where it refuses; a
// write waits while HTTP/2's window is full. publish = "unary": PublishValue, a call that waits for its answer.
//
// Receiving. SubscribeById with a buffer of `broker_queue` values. The broker first sends the value from before, which is not
// shown. For a subscriber that is slower it drops the oldest, without a word: Dyno counts them.
//
// Calls. A request sets the target of an actuator, `Dyno.C3.Data` (Actuate, which waits for the broker's answer); the broker hands
// it to the actuator's provider over its stream (ProvideActuationRequest, BatchActuateStreamRequest). The provider shall accept each
// target (BatchActuateStreamResponse), and does so before it acts, as the protocol means it (val.proto, OpenProviderStream): so this
// write on its stream is inside each measured call. The broker does not wait for it and hands it to nobody. The response is a value
// that the provider publishes as above, of the responses' channel's own signal, which the caller subscribes to.
//
// VISS. With receive = "viss" a value goes in over gRPC as always, since what VISS sets is no value but a target, and comes out over VISS: JSON
// on a WebSocket (boost::beast). The broker keeps the latest value alone for such a subscriber.
#include "ends.hpp"
#include "operations.hpp"

using dyno::None;

namespace {

constexpr const char *WAYS[] = {"stream", "unary", nullptr};

constexpr const char *RECEIVING[] = {"grpc", "viss", nullptr};

constexpr dyno_option_spec OPTIONS[] = {
    {"port", DYNO_OPTION_INT, 65'535, nullptr, "15555", "the port of the databroker on each participant's host"},
    {"publish", DYNO_OPTION_ONE_OF, 0, WAYS, "stream",
     "stream: OpenProviderStream, unanswered; unary: PublishValue, whose answer a send waits for"},
    {"receive", DYNO_OPTION_ONE_OF, 0, RECEIVING, "grpc",
     "grpc: SubscribeById; viss: a VISS subscription over a WebSocket, which has no buffer and no TLS here"},
    {"viss_port", DYNO_OPTION_INT, 65'535, nullptr, "15556", "the port of the databroker's VISS"},
    {"broker_queue", DYNO_OPTION_INT, 1000, nullptr, "1000",
     "values that the databroker keeps for a subscriber that is slower (buffer_size); its own: 0, the latest alone"},
    {"send_timeout_ms", DYNO_OPTION_INT, 3'600'000, nullptr, "10000",
     "unary, and requests (Actuate) however values are published: how long a send waits for its answer before it is an error, in ms"},
    {"tls", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "the connection is encrypted; the databroker's certificate is server.crt in the trial's scratch directory"},
    {"token", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "calls bear the JSON web token that the file token in the trial's scratch directory holds (authorization: Bearer)"},
};

const dyno_description *describe() {
    static const std::string version = ::grpc::Version();
    static const dyno_description description = [] {
        dyno_description d = {};
        d.name = "kuksa";
        d.version = version.c_str();
        d.summary = "Eclipse Kuksa databroker over gRPC (kuksa.val.v2): a text signal for each channel, messages as base64. The "
                    "version is that of the gRPC library.";
        // The databroker takes 4 MiB with all that they hold (tonic's limit), and base64 makes four bytes of three.
        d.max_message = 3'000'000;
        d.option_count = sizeof OPTIONS / sizeof OPTIONS[0];
        d.options = OPTIONS;
        return d;
    }();
    return &description;
}

constexpr dyno_adapter_ops OPS = dyno::operations<dyno_node, dyno_sender, None, dyno_subscription>(
    DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT | DYNO_CAN_CALL | DYNO_CAN_THREAD | DYNO_CAN_PROCESS |
        DYNO_CAN_HOST,
    describe);

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
