// A connection to the bus.
#ifndef DYNO_DBUS_LINE_HPP
#define DYNO_DBUS_LINE_HPP

#include "dyno_adapter.hpp"

#include <dbus/dbus.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace dyno::dbus {

struct Unref {
    void operator()(DBusMessage *message) const { dbus_message_unref(message); }
};
using Message = std::unique_ptr<DBusMessage, Unref>;

// What the ends of a channel say of themselves.
using Hears = std::function<void(const std::string &)>;

class Line {
  public:
    // `address` as libdbus writes it.
    explicit Line(const std::string &address);
    ~Line();
    Line(const Line &) = delete;
    Line &operator=(const Line &) = delete;

    // Asks the bus for the signals of `path`; waits for its answer.
    void match(const std::string &path);
    // Asks for them, and has their texts given to `hears`, within `listen` and `take`.
    void hear(const std::string &path, Hears hears);
    void hear_no_more(const std::string &path);
    // Takes a name that calls are sent to.
    void own(const std::string &name);

    // Writes to the socket, and waits until the bus has room for all of it.
    void send(DBusMessage *message);
    // Sends a text as a signal of `path`. One that cannot be sent any more is nobody's loss.
    void tell(const std::string &path, const std::string &text);
    // Takes the texts that have come, up to the first message.
    void listen();
    // The next message that is no such text; null where there is none within `patience_ms`.
    Message take(int patience_ms);

    // The provider's: the request that was taken last.
    void hold(Message request);
    Message release();

  private:
    bool is_heard(DBusMessage *message);
    void check_open();

    DBusConnection *library_ = nullptr;
    int socket_ = -1;
    std::mutex mutex_;
    std::map<std::string, Hears> heard_;
    Message request_;
};

// A signal of `path`, or a call of `name`, with these bytes. Throws where there is no memory.
Message signal(const std::string &path);
Message call(const std::string &name);
void put_bytes(DBusMessage *message, const void *data, size_t length);
// Shows the bytes of a message; false where it has none.
bool show(DBusMessage *message, dyno_on_message on_message, void *user);

} // namespace dyno::dbus
#endif
