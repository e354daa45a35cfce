// D-Bus through dbus-daemon, with libdbus: a channel is a signal of an object path, to all who match it.
//
// Connections. The bus is that of the stack's daemon, at `bus` in the trial's scratch directory. Each end of a channel has a
// connection of its own, which libdbus wants of whoever takes from it; the two ends of a call share one.
//
// Sending. dbus_message_append_args copies the message, dbus_connection_send writes it, and dbus_connection_flush waits while
// the socket is full.
//
// Receiving. dbus_connection_pop_message, after dbus_connection_read_write; who blocks sleeps in poll before it, because
// the library's own wait cannot be interrupted. libdbus has no thread of its own.
//
// Calls. Method calls to a name that the provider owns, and their returns.
//
// Losses. The bus keeps what a slow receiver leaves, up to the bytes that its configuration says; then it drops.
#include "ends.hpp"
#include "operations.hpp"

using dyno::None;

namespace {

const dyno_description *describe() {
    static const std::string version = [] {
        int major, minor, micro;
        dbus_get_version(&major, &minor, &micro);
        return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(micro);
    }();
    static const dyno_description description = [] {
        dyno_description d = {};
        d.name = "dbus";
        d.version = version.c_str();
        d.summary = "D-Bus through dbus-daemon, with libdbus: broadcast signals and method calls with an array of bytes.";
        // The longest array (D-Bus Specification, Marshaling, ARRAY).
        d.max_message = UINT64_C(1) << 26;
        return d;
    }();
    return &description;
}

constexpr dyno_adapter_ops OPS = dyno::operations<dyno_node, dyno_sender, dyno_receiver, None>(
    DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT | DYNO_CAN_CALL | DYNO_CAN_THREAD |
        DYNO_CAN_PROCESS,
    describe);

// Once, before the first connection.
struct Threads {
    Threads() { dbus_threads_init_default(); }
} const THREADS;

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
