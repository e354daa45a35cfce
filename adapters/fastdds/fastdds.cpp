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
#include "operations.hpp"
#include "options.hpp"

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
        "eProsima Fast DDS over UDP, its shared-memory transport, or data sharing. With `type = \"array\"`, which data sharing "
        "requires, the library loans memory; otherwise samples are serialized in the same way as generated types.",
        0,
        0,
        0,
        OPTION_COUNT,
        OPTIONS,
        nullptr,
    };
    return &description;
}

constexpr dyno_adapter_ops OPS = dyno::operations<dyno_node, dyno_sender, dyno_receiver, dyno_subscription>(
    DYNO_CAN_LOAN | DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT |
        DYNO_CAN_THREAD | DYNO_CAN_PROCESS | DYNO_CAN_HOST,
    describe);

} // namespace

extern "C" DYNO_EXPORT const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
