#include "options.hpp"

#include "dyno_adapter.hpp"

#include <algorithm>
#include <sstream>

namespace {

constexpr uint64_t HISTORY_BYTES = 64u << 20; // What `samples = 0` lets one history hold.
constexpr uint64_t FEWEST = 16;
constexpr uint64_t MOST = 4096;

const char *const TRANSPORTS[] = {"udp", "shm", "data-sharing", nullptr};
const char *const DURABILITIES[] = {"volatile", "transient-local", nullptr};
const char *const TYPES[] = {"sequence", "array", nullptr};
const char *const PUBLISH_MODES[] = {"sync", "async", nullptr};

constexpr long long UDP_DATAGRAM = 65500;          // The library's own largest.
constexpr long long SHM_DATAGRAM = (4 << 20) + (64 << 10); // 4 MiB and the headers in one piece.

[[noreturn]] void refuse(const char *name, const std::string &what) {
    throw dyno::Error(DYNO_BAD_OPTION, std::string("option `") + name + "`: " + what);
}

long long ranged(const dyno::Options &options, const char *name, long long fallback, long long least, long long most) {
    const long long value = options.integer(name, fallback);
    if (value < least || value > most) {
        refuse(name, "write " + std::to_string(least) + " to " + std::to_string(most) + " instead of " +
                         std::to_string(value));
    }
    return value;
}

Transport transport_of(const std::string &text) {
    return text == "shm" ? Transport::shm : text == "data-sharing" ? Transport::data_sharing : Transport::udp;
}

} // namespace

const dyno_option_spec OPTIONS[] = {
    {"as_shipped", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "every setting is the library's default: transports, QoS, buffers and times; of the other options only `type` "
     "applies"},
    {"transport", DYNO_OPTION_ONE_OF, 0, TRANSPORTS, "udp",
     "udp: UDPv4 alone; shm: the shared-memory transport alone; data-sharing: samples in shared histories, the rest as "
     "shm (library's default: UDP, shared memory and data sharing, whichever fits)"},
    {"reliable", DYNO_OPTION_BOOL, 0, nullptr, "true",
     "reliability of both ends (library's default: reliable writers, best-effort readers)"},
    {"durability", DYNO_OPTION_ONE_OF, 0, DURABILITIES, "volatile",
     "of the writer; readers are volatile, so that they get only messages that are sent after they join (library's "
     "default: transient-local writers)"},
    {"type", DYNO_OPTION_ONE_OF, 0, TYPES, nullptr,
     "sequence: variable size, serialized; array: plain, always as long as the channel's largest message, loaned "
     "(if omitted: array with data-sharing, else sequence)"},
    {"history", DYNO_OPTION_INT, 0, nullptr, "0", "how many samples to keep, the last ones; 0: keep all (library's default: 1)"},
    {"samples", DYNO_OPTION_INT, 1'000'000, nullptr, "0",
     "most samples in a history that keeps all; 0: as many as fit into 64 MiB, 16 to 4096 (library's default: 5000)"},
    {"publish", DYNO_OPTION_ONE_OF, 0, PUBLISH_MODES, "sync",
     "sync: the caller of write sends; async: a thread of the library does, and the stack must say `sends_later = true` "
     "(library's default: sync)"},
    {"send_timeout_ms", DYNO_OPTION_INT, 3'600'000, nullptr, "10000",
     "how long a reliable send waits for room before it is refused, in milliseconds (library's default: 100)"},
    {"lease_ms", DYNO_OPTION_INT, 0, nullptr, "5000",
     "a participant that is silent for so long counts as gone, in milliseconds; it announces itself four times as often "
     "(library's default: 20000)"},
    {"announcements", DYNO_OPTION_INT, 0, nullptr, "20",
     "how many times a new participant announces itself every 100 ms, before it does so at every quarter of its lease "
     "(library's default: 5)"},
    {"heartbeat_ms", DYNO_OPTION_INT, 0, nullptr, "20",
     "period at which a writer asks for missing acknowledgements, in milliseconds (library's default: 3000)"},
    {"response_ms", DYNO_OPTION_INT, 0, nullptr, "5",
     "delay of the answer to a heartbeat and to a request for missing samples, in milliseconds (library's default: 5)"},
    {"datagram", DYNO_OPTION_INT, 0, nullptr, nullptr,
     "largest RTPS message in bytes; the library cuts larger ones into fragments (if omitted: 65500 with udp, its default; "
     "4259840 with shm)"},
    {"socket_kib", DYNO_OPTION_INT, 0, nullptr, "4096",
     "send and receive buffers of UDP sockets in KiB, which net.core.rmem_max and wmem_max limit (library's default: "
     "the system's)"},
    {"segment_kib", DYNO_OPTION_INT, 0, nullptr, "16384",
     "shared memory of a participant for messages that are on their way, in KiB (library's default: 512)"},
    {"queue", DYNO_OPTION_INT, 0, nullptr, "512", "messages that a shared-memory port holds (library's default: 512)"},
    {"intraprocess", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "whether participants of one process bypass the transport; applies to the whole process (library's default: true)"},
    {"peers", DYNO_OPTION_TEXT, 0, nullptr, "",
     "with udp: IP addresses, separated by commas, of hosts to announce to that multicast does not reach"},
};
const uint32_t OPTION_COUNT = sizeof(OPTIONS) / sizeof(OPTIONS[0]);

Settings::Settings(const dyno_context &context) {
    const dyno::Options options(context);
    as_shipped = options.boolean("as_shipped", false);
    transport = transport_of(options.text("transport", "udp"));
    reliable = options.boolean("reliable", true);
    transient_local = options.text("durability", "volatile") == "transient-local";
    array = options.text("type", transport == Transport::data_sharing ? "array" : "sequence") == "array";
    async = options.text("publish", "sync") == "async";
    intraprocess = options.boolean("intraprocess", false);
    history = static_cast<int32_t>(ranged(options, "history", 0, 0, 1'000'000));
    samples = static_cast<int32_t>(ranged(options, "samples", 0, 0, 1'000'000));
    send_timeout_ms = ranged(options, "send_timeout_ms", 10'000, 0, 3'600'000);
    lease_ms = ranged(options, "lease_ms", 5'000, 100, 3'600'000);
    heartbeat_ms = ranged(options, "heartbeat_ms", 20, 1, 3'600'000);
    response_ms = ranged(options, "response_ms", 5, 0, 10'000);
    announcements = static_cast<uint32_t>(ranged(options, "announcements", 20, 1, 1'000'000));
    datagram = static_cast<uint32_t>(transport == Transport::udp
                                         ? ranged(options, "datagram", UDP_DATAGRAM, 1'000, UDP_DATAGRAM)
                                         : ranged(options, "datagram", SHM_DATAGRAM, 1'000, 1 << 30));
    socket = static_cast<uint32_t>(ranged(options, "socket_kib", 4'096, 64, 1 << 20)) * 1024;
    segment = static_cast<uint32_t>(ranged(options, "segment_kib", 16'384, 64, 1 << 20)) * 1024;
    queue = static_cast<uint32_t>(ranged(options, "queue", 512, 1, 1'000'000));
    std::stringstream list(options.text("peers", ""));
    for (std::string peer; std::getline(list, peer, ',');) {
        peers.push_back(peer);
    }
    if (transport == Transport::data_sharing && !array) {
        refuse("type", "data sharing takes plain types only; write `type = \"array\"` or leave it out");
    }
    if (transport == Transport::data_sharing && (!reliable || history > 0)) {
        refuse(reliable ? "history" : "reliable",
               "with data sharing a writer that does not wait overwrites what a reader is being shown; write "
               "`reliable = true` and `history = 0`");
    }
    if (shared_memory() && segment < datagram) {
        refuse("segment_kib", "a segment of " + std::to_string(segment) + " B is smaller than a message of " +
                                  std::to_string(datagram) + " B; lower `datagram` or raise `segment_kib`");
    }
}

int32_t Settings::samples_for(uint64_t most) const {
    if (history > 0) {
        return history;
    }
    if (samples > 0) {
        return samples;
    }
    return static_cast<int32_t>(std::clamp(HISTORY_BYTES / std::max<uint64_t>(most, 1), FEWEST, MOST));
}
