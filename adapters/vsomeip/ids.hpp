// The numbers under which channels are known to SOME/IP.
#ifndef DYNO_VSOMEIP_IDS_HPP
#define DYNO_VSOMEIP_IDS_HPP

#include <cstdint>

namespace dyno_vsomeip {

// Each channel is a service of its own; a call is the service of its requests' channel. Trials do not
// see each other, so the numbers need to be unique within the trial only.
constexpr unsigned FIRST_SERVICE = 0x1000;
constexpr unsigned LAST_SERVICE = 0xfffd; // above are service discovery and wildcards
constexpr uint16_t INSTANCE = 0x0001;
constexpr uint16_t METHOD = 0x0001;
constexpr uint16_t EVENT = 0x8001; // events have the highest bit set
constexpr uint16_t EVENTGROUP = 0x0001;

// Channels that a trial between hosts may have.
constexpr unsigned REMOTE_CHANNELS = 128;

} // namespace dyno_vsomeip
#endif
