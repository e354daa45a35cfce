// Between the library's thread, which may be late or shared, and a callback that must not be called any more.
#ifndef DYNO_VSOMEIP_GATE_HPP
#define DYNO_VSOMEIP_GATE_HPP

#include "seat.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace dyno_vsomeip {

// What arrives is shown where the library reports it: on the one dispatcher of its application. A callback that has
// once held up a dispatcher which others share gets a thread of its own from then on, as handlers that take their
// time do in a vehicle's software: what waits for it then waits here, in order and without a limit, instead of in
// the dispatcher's queue with everybody else behind it.
class Gate {
  public:
    using Message = std::shared_ptr<vsomeip::message>;
    // Called with each message before it is shown.
    using Note = std::function<void(const Message &)>;

    explicit Gate(std::shared_ptr<const Crowd> crowd, Note note = {});
    ~Gate();
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;

    void open(dyno_on_message on_message, void *user);
    // Waits for a callback that is running; what waits for it is thrown away.
    void close();
    // On the dispatcher.
    void deliver(const Message &message);

  private:
    void show(const Message &message);
    void show_while_others_wait(const Message &message);
    void hand_over(const Message &message);
    void work();

    const std::shared_ptr<const Crowd> crowd_;
    const Note note_;
    dyno_on_message on_message_ = nullptr;
    void *user_ = nullptr;
    std::atomic<bool> open_{false};
    std::atomic<unsigned> inside_{0};
    // Callbacks in a row that held up others; on the dispatcher.
    unsigned slow_ = 0;

    // The thread of a slow callback; the dispatcher starts it, `close` ends it.
    std::thread worker_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Message> waiting_;
};

} // namespace dyno_vsomeip
#endif
