// The options of a stack. Whatever is set differently from the library's default is one of them, and its
// line says what the library's default is.
#ifndef DYNO_FASTDDS_OPTIONS_HPP
#define DYNO_FASTDDS_OPTIONS_HPP

#include "dyno_adapter.h"

#include <cstdint>
#include <string>
#include <vector>

enum class Transport { udp, shm, data_sharing };

struct Settings {
    // Throws dyno::Error where an option is out of range or two contradict each other.
    explicit Settings(const dyno_context &context);

    // How many samples each history holds, for messages of at most `most` bytes.
    int32_t samples_for(uint64_t most) const;

    bool shared_memory() const { return transport != Transport::udp; }

    bool as_shipped; // Nothing but `type` of what follows is used.
    Transport transport;
    bool reliable;
    bool transient_local;
    bool array;
    bool async;
    bool intraprocess;
    int32_t history; // Depth in samples; 0: keep all.
    int32_t samples; // Of a history that keeps all; 0: by size.
    long long send_timeout_ms;
    long long lease_ms;
    long long heartbeat_ms;
    long long response_ms;
    uint32_t announcements;
    uint32_t datagram; // bytes
    uint32_t socket;   // bytes
    uint32_t segment;  // bytes
    uint32_t queue;    // messages
    std::vector<std::string> peers;
};

// For dyno_description.
extern const dyno_option_spec OPTIONS[];
extern const uint32_t OPTION_COUNT;

#endif
