// Who is there, behind a broker that tells nobody who listens: the ends of a channel say so to each other, over the
// broker itself, before the first message.
//
// A reader subscribes to the channel, and then says `here` with its number. A broker handles what one connection sends
// in order, so whoever hears it knows that what is sent now arrives. A writer asks `who` when it comes, and answers
// `here` of a reader that it did not know with `writer`; a reader answers `who` with `here`. So both know of each other
// whoever comes first. Who closes in order says `gone`; who is killed is missed by Dyno, not by this.
//
// Each end has a name of its own beside its number, `here 1 5f3a…`: what an end says last may come after what the next of the
// same number says first, since they have two connections, and must not undo it.
//
// Each end listens to the other end's topic alone: writers to that of readers, and readers to that of writers.
#ifndef DYNO_BROKER_PRESENCE_HPP
#define DYNO_BROKER_PRESENCE_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>

namespace dyno::broker {

// Publishes one short text for the other end. It may be called from within the library's callback.
using Tell = std::function<void(const std::string &)>;

// A name that no other end has.
inline std::string own_name() {
    std::random_device random;
    return std::to_string((static_cast<uint64_t>(random()) << 32) | random());
}

// The first word of `said`, which loses it and the blank behind it.
inline std::string first_word(std::string &said) {
    const size_t blank = said.find(' ');
    const std::string word = said.substr(0, blank);
    said.erase(0, blank == std::string::npos ? blank : blank + 1);
    return word;
}

// The readers of a channel, as its writer hears of them.
class Readers {
  public:
    explicit Readers(Tell tell) : tell_(std::move(tell)) {}

    // Once the writer hears what readers say.
    void ask() { tell_("who " + name_); }
    void leave() { tell_("gone " + name_); }
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

    // `here N NAME` or `gone N NAME`.
    void heard(std::string said) {
        const std::string what = first_word(said);
        const std::string number = first_word(said);
        if (number.empty()) {
            return;
        }
        bool is_new = false;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto known = there_.find(number);
            if (what == "here") {
                is_new = known == there_.end() || known->second != said;
                there_[number] = said;
            } else if (known != there_.end() && known->second == said) {
                there_.erase(known);
            }
            count_.store(static_cast<uint32_t>(there_.size()), std::memory_order_release);
        }
        if (is_new) {
            tell_("writer " + name_);
        }
    }

  private:
    static constexpr std::chrono::milliseconds AGAIN{50};

    const Tell tell_;
    const std::string name_ = own_name();
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    // Names by number.
    std::map<std::string, std::string> there_;
    std::atomic<uint32_t> count_{0};
};

// The writer of a channel, as one of its readers hears of it.
class Writer {
  public:
    Writer(uint16_t participant, Tell tell) : own_(std::to_string(participant) + " " + own_name()), tell_(std::move(tell)) {}

    // Once the reader is subscribed to the channel and hears what the writer says.
    void announce() { tell_("here " + own_); }
    void leave() { tell_("gone " + own_); }
    bool is_there() const { return there_.load(std::memory_order_acquire); }

    // `who NAME`, `writer NAME` or `gone NAME`; the library calls it from one thread.
    void heard(std::string said) {
        const std::string what = first_word(said);
        if (what != "gone") {
            writer_ = said;
            there_.store(true, std::memory_order_release);
        } else if (writer_ == said) {
            there_.store(false, std::memory_order_release);
        }
        if (what == "who") {
            announce();
        }
    }

  private:
    const std::string own_;
    const Tell tell_;
    std::string writer_;
    std::atomic<bool> there_{false};
};

} // namespace dyno::broker
#endif
