// The vsomeip that is loaded.
#ifndef DYNO_VSOMEIP_LIBRARY_HPP
#define DYNO_VSOMEIP_LIBRARY_HPP

#include <string>

namespace dyno_vsomeip {

// Its version, such as 3.4.10.
std::string library_version();

// Loads the parts that vsomeip loads by itself when an application starts, from where it lies itself:
// when it does not find one, it ends the process.
void load_parts();

} // namespace dyno_vsomeip
#endif
