#include "line.hpp"

#include <new>
#include <poll.h>

namespace dyno::dbus {

namespace {

constexpr const char *INTERFACE = "dev.dyno.Channel";

// An error of the library's, and what it says.
struct Failure {
    Failure() { dbus_error_init(&error); }
    ~Failure() { dbus_error_free(&error); }
    Failure(const Failure &) = delete;
    Failure &operator=(const Failure &) = delete;

    void check(const std::string &call) const {
        if (dbus_error_is_set(&error)) {
            throw Error(DYNO_ERROR, call + ": " + error.message);
        }
    }

    DBusError error;
};

Message made(DBusMessage *message) {
    if (!message) {
        throw std::bad_alloc();
    }
    return Message(message);
}

} // namespace

Line::Line(const std::string &address) {
    Failure failure;
    library_ = dbus_connection_open_private(address.c_str(), &failure.error);
    if (!library_) {
        throw Error(DYNO_ERROR, "no bus at " + address + ": " + failure.error.message +
                                    "; the stack's daemon must listen there");
    }
    dbus_connection_set_exit_on_disconnect(library_, false);
    if (!dbus_bus_register(library_, &failure.error)) {
        const std::string why = failure.error.message;
        dbus_connection_close(library_);
        dbus_connection_unref(library_);
        throw Error(DYNO_ERROR, "dbus_bus_register at " + address + ": " + why);
    }
    dbus_connection_get_unix_fd(library_, &socket_);
}

Line::~Line() {
    request_.reset();
    dbus_connection_close(library_);
    dbus_connection_unref(library_);
}

void Line::match(const std::string &path) {
    Failure failure;
    // Another thread would take the reply for which this one waits.
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string rule = std::string("type='signal',interface='") + INTERFACE + "',path='" + path + "'";
    dbus_bus_add_match(library_, rule.c_str(), &failure.error);
    failure.check("dbus_bus_add_match");
}

void Line::hear(const std::string &path, Hears hears) {
    match(path);
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_[path] = std::move(hears);
}

void Line::hear_no_more(const std::string &path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // What still comes is nobody's.
    heard_[path] = nullptr;
}

void Line::own(const std::string &name) {
    Failure failure;
    const std::lock_guard<std::mutex> lock(mutex_);
    dbus_bus_request_name(library_, name.c_str(), DBUS_NAME_FLAG_DO_NOT_QUEUE, &failure.error);
    failure.check("dbus_bus_request_name(" + name + ")");
}

void Line::send(DBusMessage *message) {
    if (!dbus_connection_send(library_, message, nullptr)) {
        throw std::bad_alloc();
    }
    dbus_connection_flush(library_);
    check_open();
}

void Line::check_open() {
    if (!dbus_connection_get_is_connected(library_)) {
        throw Error(DYNO_PEER_GONE, "the connection to the bus has ended");
    }
}

void Line::tell(const std::string &path, const std::string &text) {
    const Message message = signal(path);
    put_bytes(message.get(), text.data(), text.size());
    dbus_connection_send(library_, message.get(), nullptr);
    dbus_connection_flush(library_);
}

bool Line::is_heard(DBusMessage *message) {
    const char *path = dbus_message_get_path(message);
    const auto found = path ? heard_.find(path) : heard_.end();
    if (found == heard_.end()) {
        // The bus's own words, such as that a name was acquired.
        return dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_SIGNAL &&
               !dbus_message_has_interface(message, INTERFACE);
    }
    const auto give = [](void *hears, const void *data, size_t length) {
        (*static_cast<Hears *>(hears))(std::string(static_cast<const char *>(data), length));
    };
    if (found->second) {
        show(message, give, &found->second);
    }
    return true;
}

void Line::listen() {
    check_open();
    dbus_connection_read_write(library_, 0);
    const std::lock_guard<std::mutex> lock(mutex_);
    while (DBusMessage *first = dbus_connection_borrow_message(library_)) {
        const char *path = dbus_message_get_path(first);
        if (path && heard_.count(path) == 0 && dbus_message_has_interface(first, INTERFACE)) {
            dbus_connection_return_message(library_, first);
            return;
        }
        if (dbus_message_get_type(first) == DBUS_MESSAGE_TYPE_METHOD_RETURN ||
            dbus_message_get_type(first) == DBUS_MESSAGE_TYPE_METHOD_CALL) {
            dbus_connection_return_message(library_, first);
            return;
        }
        dbus_connection_steal_borrowed_message(library_, first);
        is_heard(Message(first).get());
    }
}

Message Line::take(int patience_ms) {
    for (int tries = 0; tries < 2; tries++) {
        for (;;) {
            const std::lock_guard<std::mutex> lock(mutex_);
            Message message(dbus_connection_pop_message(library_));
            if (!message) {
                break;
            }
            if (!is_heard(message.get())) {
                return message;
            }
        }
        if (tries > 0) {
            break;
        }
        // The library's own wait begins anew after each signal.
        pollfd readable = {socket_, POLLIN, 0};
        if (patience_ms > 0 && poll(&readable, 1, patience_ms) <= 0) {
            break;
        }
        if (!dbus_connection_read_write(library_, 0)) {
            throw Error(DYNO_PEER_GONE, "the connection to the bus has ended");
        }
    }
    return nullptr;
}

void Line::hold(Message request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    request_ = std::move(request);
}

Message Line::release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(request_);
}

Message signal(const std::string &path) { return made(dbus_message_new_signal(path.c_str(), INTERFACE, "Message")); }

Message call(const std::string &name) {
    return made(dbus_message_new_method_call(name.c_str(), "/dyno", INTERFACE, "Call"));
}

void put_bytes(DBusMessage *message, const void *data, size_t length) {
    // It takes a pointer to the pointer to the bytes.
    if (!dbus_message_append_args(message, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &data, static_cast<int>(length),
                                  DBUS_TYPE_INVALID)) {
        throw std::bad_alloc();
    }
}

bool show(DBusMessage *message, dyno_on_message on_message, void *user) {
    const unsigned char *data = nullptr;
    int length = 0;
    Failure failure;
    if (!dbus_message_get_args(message, &failure.error, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &data, &length,
                               DBUS_TYPE_INVALID)) {
        return false;
    }
    on_message(user, data, static_cast<size_t>(length));
    return true;
}

} // namespace dyno::dbus
