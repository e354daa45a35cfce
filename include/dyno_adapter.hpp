// Helpers for adapters written in C++ on top of dyno_adapter.h: errors, options, and a guard that lets
// no exception out. Header only, C++17.
#ifndef DYNO_ADAPTER_HPP
#define DYNO_ADAPTER_HPP

#include "dyno_adapter.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

namespace dyno {

// An error with the status that the operation returns.
struct Error : std::runtime_error {
    Error(dyno_status code, const std::string &what) : std::runtime_error(what), status(code) {}
    dyno_status status;
};

// The text of the calling thread's last error.
inline std::string &last_error() {
    thread_local std::string text;
    return text;
}

// For `dyno_adapter_ops::last_error`.
inline const char *last_error_text() { return last_error().c_str(); }

// Runs `body`, which returns a status; an exception becomes an error status and its text.
template <typename Body> dyno_status guarded(const char *call, Body &&body) noexcept {
    try {
        return body();
    } catch (const Error &e) {
        last_error() = std::string(call) + ": " + e.what();
        return e.status;
    } catch (const std::exception &e) {
        last_error() = std::string(call) + " threw: " + e.what();
        return DYNO_ERROR;
    } catch (...) {
        last_error() = std::string(call) + " threw something that is no std::exception";
        return DYNO_ERROR;
    }
}

// The stack's options.
class Options {
  public:
    explicit Options(const dyno_context &context) : context_(context) {}

    std::string text(const char *name, const char *fallback) const {
        const char *value = find(name);
        return value ? value : fallback;
    }
    bool boolean(const char *name, bool fallback) const {
        const char *value = find(name);
        return value ? std::strcmp(value, "true") == 0 : fallback;
    }
    // Zero or more; Dyno has checked that it is a whole number.
    long long integer(const char *name, long long fallback) const {
        const char *value = find(name);
        return value ? std::strtoll(value, nullptr, 10) : fallback;
    }

  private:
    const char *find(const char *name) const {
        for (uint32_t i = 0; i < context_.option_count; i++) {
            if (std::strcmp(context_.options[i].name, name) == 0) {
                return context_.options[i].value;
            }
        }
        return nullptr;
    }
    const dyno_context &context_;
};

} // namespace dyno
#endif
