#include "seat.hpp"

#include <algorithm>
#include <map>
#include <sched.h>
#include <set>
#include <vector>

namespace dyno_vsomeip {

struct Seat::Shared {
    Shared(const Settings &settings, const std::string &name_)
        : name(name_), application(settings, name), crowd(std::make_shared<Crowd>(0)), seen(crowd) {}

    bool suits(const dyno_channel &channel, uint16_t participant) const {
        const auto sits = [&](uint16_t other) { return other != participant && seated.count(other) > 0; };
        const dyno_endpoint *const end = channel.readers + channel.reader_count;
        return !sits(channel.writer) &&
               std::none_of(channel.readers, end, [&](const dyno_endpoint &reader) { return sits(reader.participant); });
    }

    const std::string name;
    Application application;
    std::multiset<uint16_t> seated; // guarded by the table
    const std::shared_ptr<Crowd> crowd;
    const std::shared_ptr<const Crowd> seen;
};

struct Seat::Table {
    // Held while an application starts and stops, so that its name is free for the next one.
    std::mutex mutex;
    // By what their participants have in common: see `common`.
    std::map<std::string, std::vector<std::shared_ptr<Shared>>> applications;
};

namespace {

// The trial, the host, all options, and the CPUs that the calling thread may use, which an application's threads inherit.
std::string common(const Settings &settings) {
    std::string text = settings.common();
    cpu_set_t cpus;
    // It fails on machines with more CPUs than the set has room for: there they do not tell participants apart.
    if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &cpus)) {
                text += " " + std::to_string(cpu);
            }
        }
    }
    return text;
}

} // namespace

// Never destroyed: the process may end while applications run.
Seat::Table &Seat::table() {
    static auto &all = *new Table;
    return all;
}

// Under the first name of the participant's that no application of the process has.
std::shared_ptr<Seat::Shared> Seat::start(const Settings &settings) {
    std::set<std::string> taken;
    for (const auto &known : table().applications) {
        for (const std::shared_ptr<Shared> &one : known.second) {
            taken.insert(one->name);
        }
    }
    unsigned more = 0;
    while (taken.count(settings.application(settings.participant, more)) > 0) {
        more++;
    }
    return std::make_shared<Shared>(settings, settings.application(settings.participant, more));
}

Seat::Seat(const Settings &settings, const dyno_channel &channel)
    : common_(common(settings)), participant_(settings.participant) {
    const std::lock_guard<std::mutex> lock(table().mutex);
    const auto known = table().applications.find(common_);
    if (known != table().applications.end()) {
        const auto &running = known->second;
        const auto found = std::find_if(running.begin(), running.end(), [&](const std::shared_ptr<Shared> &one) {
            return one->suits(channel, participant_);
        });
        shared_ = found == running.end() ? nullptr : *found;
    }
    if (!shared_) {
        shared_ = start(settings);
        table().applications[common_].push_back(shared_);
    }
    shared_->seated.insert(participant_);
    ++*shared_->crowd;
}

Seat::~Seat() {
    const std::lock_guard<std::mutex> lock(table().mutex);
    shared_->seated.erase(shared_->seated.find(participant_));
    --*shared_->crowd;
    if (shared_->seated.empty()) {
        const auto running = table().applications.find(common_);
        auto &all = running->second;
        all.erase(std::find(all.begin(), all.end(), shared_));
        if (all.empty()) {
            table().applications.erase(running);
        }
        shared_.reset();
    }
}

bool Seat::suits(const dyno_channel &channel) const {
    const std::lock_guard<std::mutex> lock(table().mutex);
    return shared_->suits(channel, participant_);
}

const std::shared_ptr<vsomeip::application> &Seat::application() const { return shared_->application.shared(); }

const std::shared_ptr<const Crowd> &Seat::crowd() const { return shared_->seen; }

} // namespace dyno_vsomeip
