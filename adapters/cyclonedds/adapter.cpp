// Eclipse Cyclone DDS: one topic per channel, named as the channel, with one writer.
//
// Types. A message is a sequence of octets, or with `type = "array"` the front of a fixed array
// (octets.idl). The sender's and the receiver's sample are allocated once; the library serialises
// and deserialises between them and its own buffers, there is no other copy. It lends memory only
// with its shared memory (iceoryx 1 and its daemon), which this adapter does not switch on.
//
// Waits. Spinning is dds_take in a loop, blocking dds_take and then a waitset on the reader's
// DATA_AVAILABLE, a callback the reader's data_available listener, which takes all there is. The
// library calls listeners on its receive thread; between participants of one process there is no
// network and no such thread: there dds_write itself delivers, and calls the listener.
//
// Sending. A reliable writer whose cache is full of what was not acknowledged waits, for
// `send_timeout_ms` at most. A receiver that was killed holds it up until its lease ends. A listener that answers with a reliable send waits in
// vain: the thread that it holds up is the one that takes acknowledgements; so a callback's replies
// of more than some 15 KiB are refused now and then, unless `delivery = "queued"` gives listeners a
// thread of their own. The library cuts messages up, the adapter does not.
//
// Discovery. See domain.hpp. The library's configuration is made of the stack's options only:
// CYCLONEDDS_URI is not looked at.
//
// Cleaning. UDP sockets and threads are all that there is; nothing outlives the process.
#include "ends.hpp"
#include "operations.hpp"

#include <dlfcn.h>
#include <stdlib.h>

namespace {

constexpr const char *TYPES[] = {"sequence", "array", nullptr};
constexpr const char *DELIVERIES[] = {"direct", "queued", nullptr};

constexpr dyno_option_spec OPTIONS[] = {
    {"as_shipped", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "every QoS is the library's default; `reliable`, `history` and `send_timeout_ms` are ignored"},
    {"reliable", DYNO_OPTION_BOOL, 0, nullptr, "true",
     "true: lost messages are sent again, and a full writer waits; false: best effort"},
    {"history", DYNO_OPTION_INT, 0, nullptr, "0",
     "messages that writer and reader keep, replacing the oldest; 0: all (reliable stacks lose none)"},
    {"type", DYNO_OPTION_ONE_OF, 0, TYPES, "sequence",
     "sequence: variable length; array: a message is always sent as a whole array, the smallest of 64 B, 128 B "
     "... 4 MiB that holds the channel's largest message, with the message's length"},
    {"send_timeout_ms", DYNO_OPTION_INT, 3'600'000, nullptr, "10000",
     "how long a reliable writer waits for room before it refuses, in ms; the library's default: 100"},
    {"delivery", DYNO_OPTION_ONE_OF, 0, DELIVERIES, "direct",
     "direct: the receive thread delivers messages, the library's default; queued: a separate thread does, so that "
     "a callback may wait in a reliable send"},
    {"lease_ms", DYNO_OPTION_INT, 0, nullptr, nullptr,
     "after how long a silent process counts as gone, in ms; the library's default: 10000"},
    {"message_bytes", DYNO_OPTION_INT, 0, nullptr, nullptr,
     "the largest UDP payload, in bytes; the library's default: 14720"},
    {"fragment_bytes", DYNO_OPTION_INT, 0, nullptr, nullptr,
     "larger messages are cut into fragments of this size, in bytes, below 65536; the library's default: 1344"},
    {"receive_buffer_bytes", DYNO_OPTION_INT, 0, nullptr, nullptr,
     "receive buffer requested for each socket, in bytes, limited by net.core.rmem_max; the library's default: 1 MiB"},
    {"writer_cache_bytes", DYNO_OPTION_INT, 0, nullptr, nullptr,
     "a reliable writer waits while more than this is unacknowledged, in bytes; the library's default: 500 kB"},
    {"domain", DYNO_OPTION_INT, 29, nullptr, "0",
     "the domain's number on the wire, for programs other than the participants; 0: derived from the trial's name"},
    {"peers", DYNO_OPTION_TEXT, 0, nullptr, "",
     "addresses that discovery contacts, separated by commas; empty: multicast, or on a loopback address only that one"},
};

// What follows ".so." in the name of the file that the library was loaded from: it has no call that
// says its version, and the header's is not necessarily that of the loaded one.
std::string loaded_version() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void *>(&dds_create_participant), &info) || !info.dli_fname) {
        return "unknown";
    }
    char *real = realpath(info.dli_fname, nullptr);
    const std::string file = real ? real : info.dli_fname;
    free(real);
    const size_t at = file.rfind(".so.");
    return at == std::string::npos ? "unknown (" + file + ")" : file.substr(at + 4);
}

const dyno_description *describe() {
    static const std::string version = loaded_version();
    static const dyno_description description = [] {
        dyno_description d = {};
        d.name = "cyclonedds";
        d.version = version.c_str();
        d.summary = "Eclipse Cyclone DDS: topics over UDP (RTPS), delivered directly within one process. The "
                    "version comes from the name of the loaded file.";
        d.option_count = sizeof OPTIONS / sizeof OPTIONS[0];
        d.options = OPTIONS;
        // Well below the library's MaxSampleSize of 2 GiB, which counts its own header too.
        d.max_message = UINT64_C(1) << 30;
        return d;
    }();
    return &description;
}

constexpr dyno_adapter_ops OPS = dyno::operations<dyno_node, dyno_sender, dyno_receiver, dyno_subscription>(
    DYNO_CAN_SPIN | DYNO_CAN_BLOCK | DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT | DYNO_CAN_THREAD |
        DYNO_CAN_PROCESS | DYNO_CAN_HOST,
    describe);

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
