// A participant's connection to the server, and its subscriptions.
#ifndef DYNO_NATS_CONNECTION_HPP
#define DYNO_NATS_CONNECTION_HPP

#include "dyno_adapter.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <nats/nats.h>
#include <string>

namespace dyno::nats {

// Throws where `status` is an error of `call`.
void checked(const char *call, natsStatus status);

// One message of the library's, until it goes.
using Message = std::unique_ptr<natsMsg, decltype(&natsMsg_Destroy)>;

// What a subscription's messages are given to, on its own thread of the library.
using Handler = std::function<void(natsMsg *)>;

class Connection {
  public:
    explicit Connection(const dyno_context &context);
    ~Connection();
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;

    natsConnection *get() const { return library_; }
    // `reply` may be null. DYNO_OK, or an error.
    dyno_status publish(const char *subject, const char *reply, const void *data, size_t length);
    // A short text of the adapter's own. One that cannot be sent any more is nobody's loss.
    void tell(const std::string &subject, const std::string &text);
    // Throws where the connection has ended.
    void check() const;
    // Messages of a subscription that the library keeps.
    int queue_depth() const { return queue_depth_; }

  private:
    const int queue_depth_;
    natsConnection *library_ = nullptr;
};

// A subscription whose messages the library's thread gives to a handler. When it is gone, the handler is not called
// any more.
class Listener {
  public:
    Listener(Connection &connection, const std::string &subject, Handler handler);
    ~Listener();
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;

  private:
    struct State;
    natsSubscription *library_ = nullptr;
    std::shared_ptr<State> state_;
};

// A subscription that is asked.
class Mailbox {
  public:
    Mailbox(Connection &connection, const std::string &subject);
    ~Mailbox() { natsSubscription_Destroy(library_); }
    Mailbox(const Mailbox &) = delete;
    Mailbox &operator=(const Mailbox &) = delete;

    // Null: none came within `patience_ms`.
    Message take(int64_t patience_ms);

  private:
    natsSubscription *library_ = nullptr;
};

} // namespace dyno::nats
#endif
