#include "library.hpp"
#include "dyno_adapter.hpp"

#include <vsomeip/vsomeip.hpp>

#include <climits>
#include <cstdlib>
#include <dlfcn.h>

namespace dyno_vsomeip {

namespace {

// The file that it was loaded from, without links; empty where that is unknown.
std::string library_file() {
    Dl_info info{};
    // The address of a function that only the library defines.
    const auto symbol = reinterpret_cast<void *>(&vsomeip::runtime::get);
    char path[PATH_MAX];
    if (!::dladdr(symbol, &info) || !info.dli_fname || !::realpath(info.dli_fname, path)) {
        return "";
    }
    return path;
}

} // namespace

// The library exports no version, but its file bears it: libvsomeip3.so.3.4.10.
std::string library_version() {
    const std::string file = library_file();
    const size_t at = file.rfind(".so.");
    return at == std::string::npos ? "unknown" : file.substr(at + 4);
}

void load_parts() {
    const std::string file = library_file();
    const std::string folder = file.substr(0, file.rfind('/') + 1);
    // Built with support of several routing managers it needs no part for its configuration.
    ::dlopen((folder + "libvsomeip3-cfg.so.3").c_str(), RTLD_LAZY | RTLD_GLOBAL);
    if (!::dlopen((folder + "libvsomeip3-sd.so.3").c_str(), RTLD_LAZY | RTLD_GLOBAL)) {
        throw dyno::Error(DYNO_ERROR, std::string("vsomeip's service discovery cannot be loaded: ") + ::dlerror() +
                                          "; install vsomeip as a whole");
    }
}

} // namespace dyno_vsomeip
