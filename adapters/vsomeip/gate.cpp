#include "gate.hpp"

#include <chrono>
#include <system_error>

namespace dyno_vsomeip {

namespace {

using Clock = std::chrono::steady_clock;

// A callback that runs longer has held up the others. A copy of a camera's frame takes a millisecond, and a thread
// that loses its CPU to another has it back after three or four (the slice of Linux's scheduler).
constexpr Clock::duration SLOW = std::chrono::milliseconds(10);
// So many in a row are the callback's own doing, and not those of a machine that was busy for once.
constexpr unsigned IN_A_ROW = 2;

} // namespace

Gate::Gate(std::shared_ptr<const Crowd> crowd, Note note) : crowd_(std::move(crowd)), note_(std::move(note)) {}

Gate::~Gate() { close(); }

void Gate::open(dyno_on_message on_message, void *user) {
    on_message_ = on_message;
    user_ = user;
    open_ = true;
}

void Gate::close() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_ = false;
    }
    changed_.notify_all();
    while (inside_ != 0) {
        std::this_thread::yield();
    }
    // The dispatcher, which has seen that the gate is closed, does not touch it any more.
    if (worker_.joinable()) {
        worker_.join();
    }
    waiting_.clear();
}

void Gate::deliver(const Message &message) {
    inside_++;
    if (!open_) {
        // Too late.
    } else if (worker_.joinable()) {
        hand_over(message);
    } else if (*crowd_ > 1) {
        show_while_others_wait(message);
    } else {
        show(message);
    }
    inside_--;
}

void Gate::show(const Message &message) {
    if (note_) {
        note_(message);
    }
    const auto payload = message->get_payload();
    on_message_(user_, payload->get_data(), payload->get_length());
}

void Gate::show_while_others_wait(const Message &message) {
    const Clock::time_point begin = Clock::now();
    show(message);
    slow_ = Clock::now() - begin < SLOW ? 0 : slow_ + 1;
    if (slow_ < IN_A_ROW) {
        return;
    }
    try {
        worker_ = std::thread([this] { work(); });
    } catch (const std::system_error &) {
        // The system has no thread left: it stays as it is, and the next message tries again.
    }
}

void Gate::hand_over(const Message &message) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        waiting_.push_back(message);
    }
    changed_.notify_one();
}

void Gate::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return !open_ || !waiting_.empty(); });
        if (!open_) {
            return;
        }
        const Message message = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        show(message);
        lock.lock();
    }
}

} // namespace dyno_vsomeip
