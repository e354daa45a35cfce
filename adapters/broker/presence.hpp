// Who is there, behind a broker that tells nobody who listens: the ends of a channel say so to each other, over the
// broker itself, before the first message.
//
// A reader subscribes to the channel, and then says `here` with its number. A broker handles what one connection sends
// in order, so whoever hears it knows that what is sent now arrives. A writer asks `who` when it comes, and answers
// `here` of a reader that it did not know with `writer`; a reader answers `who` with `here`. So both know of each other
// whoever comes first. Who closes in order says `gone`; who is killed is missed by Dyno, not by this.
//
// Each end listens to the other end's topic alone: writers to that of readers, and readers to that of writers.
#ifndef DYNO_BROKER_PRESENCE_HPP
#define DYNO_BROKER_PRESENCE_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace dyno::broker {

// Publishes one short text for the other end. It may be called from within the library's callback.
using Tell = std::function<void(const std::string &)>;

// The readers of a channel, as its writer hears of them.
class Readers {
  public:
    explicit Readers(Tell tell) : tell_(std::move(tell)) {}

    // Once the writer hears what readers say.
    void ask() { tell_("who"); }
    void leave() { tell_("gone"); }
    uint32_t count() const { return count_.load(std::memory_order_acquire); }

    // The same, for a writer of `wanted` readers that may be behind another broker. What joins the brokers drops what comes
    // before it has connected, so while some are missing this asks again, at most once in `AGAIN`.
    uint32_t count_behind(uint32_t wanted) {
        const auto now = std::chrono::steady_clock::now();
        if (count() < wanted && now - asked_ >= AGAIN) {
            asked_ = now;
            ask();
        }
        return count();
    }

    // `here N` or `gone N`.
    void heard(const std::string &said) {
        const size_t blank = said.find(' ');
        if (blank == std::string::npos) {
            return;
        }
        const std::string number = said.substr(blank + 1);
        bool is_new = false;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (said.compare(0, blank, "here") == 0) {
                is_new = there_.insert(number).second;
            } else {
                there_.erase(number);
            }
            count_.store(static_cast<uint32_t>(there_.size()), std::memory_order_release);
        }
        if (is_new) {
            tell_("writer");
        }
    }

  private:
    static constexpr std::chrono::milliseconds AGAIN{50};

    const Tell tell_;
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    std::set<std::string> there_;
    std::atomic<uint32_t> count_{0};
};

// The writer of a channel, as one of its readers hears of it.
class Writer {
  public:
    Writer(uint16_t participant, Tell tell) : participant_(std::to_string(participant)), tell_(std::move(tell)) {}

    // Once the reader is subscribed to the channel and hears what the writer says.
    void announce() { tell_("here " + participant_); }
    void leave() { tell_("gone " + participant_); }
    bool is_there() const { return there_.load(std::memory_order_acquire); }

    // `who`, `writer` or `gone`.
    void heard(const std::string &said) {
        there_.store(said != "gone", std::memory_order_release);
        if (said == "who") {
            announce();
        }
    }

  private:
    const std::string participant_;
    const Tell tell_;
    std::atomic<bool> there_{false};
};

} // namespace dyno::broker
#endif
