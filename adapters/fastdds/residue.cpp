#include "residue.hpp"

#include "dyno_adapter.hpp"

#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <limits.h>
#include <unistd.h>

namespace {

const std::string DIRECTORY = "/dev/shm/";
const std::string SEGMENT = "fastrtps_"; // Then sixteen random hexadecimal digits.
const std::string LOCK = "_el";          // The lock file beside what one process owns,
const std::string SHARED_LOCK = "_sl";   // and beside what several listen at.

bool is_segment(const std::string &name) {
    return name.size() == SEGMENT.size() + 16 && name.compare(0, SEGMENT.size(), SEGMENT) == 0 &&
           name.find_first_not_of("0123456789abcdef", SEGMENT.size()) == std::string::npos;
}

// Whether this process holds a file lock through the descriptor.
bool holds_lock(const std::string &descriptor) {
    std::ifstream info("/proc/self/fdinfo/" + descriptor);
    for (std::string line; std::getline(info, line);) {
        if (line.compare(0, 5, "lock:") == 0) {
            return true;
        }
    }
    return false;
}

} // namespace

void claim_shared(const dyno_context &context, const std::string &name) {
    const std::string path = DIRECTORY + name;
    const dyno_status status = context.claim(&context, "file", path.c_str());
    if (status != DYNO_OK) {
        throw dyno::Error(status, "cannot claim " + path + " for removal after a crash");
    }
}

void claim_port(const dyno_context &context, uint32_t port, bool shared) {
    const std::string name = SEGMENT + "port" + std::to_string(port);
    claim_shared(context, name);
    claim_shared(context, name + (shared ? SHARED_LOCK : LOCK));
    claim_shared(context, "sem." + name + "_mutex");
}

std::set<std::string> own_segments() {
    std::set<std::string> found;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == nullptr) {
        return found;
    }
    while (const dirent *entry = readdir(directory)) {
        char target[PATH_MAX];
        const std::string descriptor = entry->d_name;
        const ssize_t length = readlink(("/proc/self/fd/" + descriptor).c_str(), target, sizeof target);
        const std::string path(target, length > 0 ? static_cast<size_t>(length) : 0);
        if (path.compare(0, DIRECTORY.size(), DIRECTORY) != 0 || path.size() < DIRECTORY.size() + LOCK.size()) {
            continue;
        }
        const std::string name = path.substr(DIRECTORY.size(), path.size() - DIRECTORY.size() - LOCK.size());
        if (is_segment(name) && path.compare(path.size() - LOCK.size(), LOCK.size(), LOCK) == 0 &&
            holds_lock(descriptor)) {
            found.insert(name);
        }
    }
    closedir(directory);
    return found;
}

void claim_segments(const dyno_context &context, const std::set<std::string> &before) {
    for (const std::string &name : own_segments()) {
        if (before.count(name) == 0) {
            claim_shared(context, name);
            claim_shared(context, name + LOCK);
        }
    }
}
