#include "client.hpp"

#include <chrono>
#include <climits>
#include <unistd.h>

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace dyno::mqtt {

namespace {

// How long the broker may take to accept a connection.
constexpr milliseconds ACCEPT{10'000};
// How long one turn of the library's loop sleeps where nothing happens, in ms; the library's own in its threads.
constexpr int TURN_MS = 1000;
// The longest silence on a connection before the library asks whether the broker lives, in seconds, as the
// library's own programs have it.
constexpr int KEEPALIVE_S = 60;
// After an ended connection, and after each attempt to connect again that failed; mosquitto_reconnect_delay_set's own.
constexpr milliseconds RECONNECT{1000};
// Between two looks at whether the client ends, while it waits for that time.
constexpr milliseconds LOOK{10};

void checked(const char *call, int code) {
    if (code == MOSQ_ERR_ERRNO) {
        throw Error(DYNO_ERROR, std::string(call) + ": " + std::strerror(errno));
    }
    if (code != MOSQ_ERR_SUCCESS) {
        throw Error(DYNO_ERROR, std::string(call) + ": " + mosquitto_strerror(code));
    }
}

int port_of(const Options &options) {
    const long long port = options.integer("port", 17'883);
    if (port < 1 || port > 65'535) {
        throw Error(DYNO_BAD_OPTION, "port: write 1 to 65535 instead of " + std::to_string(port));
    }
    return static_cast<int>(port);
}

// mosquitto reads 0 as no limit, Dyno as no message.
void check_depth(const Options &options) {
    if (options.integer("broker_queue", 1000) < 1) {
        throw Error(DYNO_BAD_OPTION, "broker_queue: write 1 or more instead of 0");
    }
}

} // namespace

Client::Client(const dyno_context &context)
    : qos_(static_cast<int>(Options(context).integer("qos", 0))),
      outstanding_limit_(static_cast<int>(std::min<long long>(Options(context).integer("outstanding", 100), INT_MAX))),
      send_timeout_ms_(Options(context).integer("send_timeout_ms", 10'000)),
      reconnects_(Options(context).boolean("reconnect", false)) {
    const Options options(context);
    const int port = port_of(options);
    check_depth(options);
    const std::string name = std::string(context.session) + "-" + std::to_string(context.participant);
    library_ = mosquitto_new(name.c_str(), true, this);
    if (!library_) {
        throw Error(DYNO_ERROR, std::string("mosquitto_new: ") + std::strerror(errno));
    }
    try {
        connect(context, port, options.boolean("nodelay", true));
        thread_ = std::thread(&Client::loop, this);
    } catch (...) {
        mosquitto_destroy(library_);
        throw;
    }
}

void Client::connect(const dyno_context &context, int port, bool nodelay) {
    checked("mosquitto_int_option", mosquitto_int_option(library_, MOSQ_OPT_TCP_NODELAY, nodelay));
    const Options options(context);
    const long long inflight = options.integer("max_inflight", 20);
    checked("mosquitto_max_inflight_messages_set",
            mosquitto_max_inflight_messages_set(library_, static_cast<unsigned>(inflight)));
    checked("mosquitto_threaded_set", mosquitto_threaded_set(library_, true));
    mosquitto_connect_callback_set(library_, on_connect);
    mosquitto_message_callback_set(library_, on_message);
    mosquitto_publish_callback_set(library_, on_publish);
    if (options.boolean("tls", false)) {
        // It signs itself, and names the address that is connected to.
        const std::string certificate = std::string(context.scratch) + "/server.crt";
        checked("mosquitto_tls_set", mosquitto_tls_set(library_, certificate.c_str(), nullptr, nullptr, nullptr, nullptr));
    }
    const std::string place = std::string(context.address) + " port " + std::to_string(port);
    const int code = mosquitto_connect(library_, context.address, port, KEEPALIVE_S);
    if (code != MOSQ_ERR_SUCCESS) {
        const char *why = code == MOSQ_ERR_ERRNO ? std::strerror(errno) : mosquitto_strerror(code);
        throw Error(DYNO_ERROR, "no MQTT broker accepts at " + place + ": " + why +
                                    "; the stack's daemon or one of yours must listen there (option `port`)");
    }
    const auto end = steady_clock::now() + ACCEPT;
    while (accepted_ < 0 && steady_clock::now() < end) {
        checked("mosquitto_loop", mosquitto_loop(library_, DYNO_PATIENCE_MS, 1));
    }
    if (accepted_ != 0) {
        throw Error(DYNO_ERROR, "the MQTT broker at " + place + " refuses the connection: " +
                                    (accepted_ < 0 ? "no answer" : mosquitto_connack_string(accepted_)));
    }
}

Client::~Client() {
    // Wakes the thread, which writes what the broker takes. Nobody waits for more: the broker may stand still.
    mosquitto_disconnect(library_);
    ends_.store(true);
    thread_.join();
    mosquitto_destroy(library_);
}

// What mosquitto_loop_start's thread does, but that an ended connection stays ended unless the stack asks for another one:
// messages of the time without one would be missed, and nobody would know why.
void Client::loop() {
    while (!ends_.load()) {
        const int code = mosquitto_loop(library_, TURN_MS, 1);
        if (code == MOSQ_ERR_SUCCESS) {
            continue;
        }
        if (!reconnects_) {
            lost_.store(code);
            const std::lock_guard<std::mutex> lock(room_mutex_);
            room_.notify_all();
            return;
        }
        const auto end = steady_clock::now() + RECONNECT;
        while (!ends_.load() && steady_clock::now() < end) {
            std::this_thread::sleep_for(LOOK);
        }
        // Where it fails, the next turn of the loop says so.
        mosquitto_reconnect(library_);
    }
}

void Client::on_connect(mosquitto *, void *self, int code) {
    auto &client = *static_cast<Client *>(self);
    const bool again = client.accepted_ == 0;
    client.accepted_ = code;
    if (again && code == 0) {
        client.on_reconnect();
    }
}

// The broker has forgotten a clean session's subscriptions, and the library what was to leave with QoS 0.
void Client::on_reconnect() {
    if (qos_ == 0) {
        outstanding_.store(0);
    }
    const std::lock_guard<std::mutex> lock(handlers_mutex_);
    for (const auto &[topic, subscription] : handlers_) {
        mosquitto_subscribe(library_, nullptr, topic.c_str(), subscription.qos);
    }
}

void Client::on_message(mosquitto *, void *self, const mosquitto_message *message) noexcept {
    auto &client = *static_cast<Client *>(self);
    const std::lock_guard<std::mutex> lock(client.handlers_mutex_);
    const auto handler = client.handlers_.find(std::string_view(message->topic));
    if (handler != client.handlers_.end()) {
        handler->second.handler(message->payload, static_cast<size_t>(message->payloadlen));
    }
}

void Client::on_publish(mosquitto *, void *self, int) {
    auto &client = *static_cast<Client *>(self);
    client.outstanding_.fetch_sub(1);
    if (client.waits_for_room_.load()) {
        const std::lock_guard<std::mutex> lock(client.room_mutex_);
        client.room_.notify_all();
    }
}

// False: there was none for as long as a send may wait.
bool Client::has_room() {
    if (outstanding_limit_ == 0 || outstanding_.load() < outstanding_limit_) {
        return true;
    }
    // The library's own thread is the one that would make room.
    if (std::this_thread::get_id() == thread_.get_id()) {
        return false;
    }
    std::unique_lock<std::mutex> lock(room_mutex_);
    waits_for_room_.store(true);
    const bool found = room_.wait_for(lock, milliseconds(send_timeout_ms_), [&] {
        return outstanding_.load() < outstanding_limit_ || lost_.load() != MOSQ_ERR_SUCCESS;
    });
    waits_for_room_.store(false);
    return found;
}

dyno_status Client::send(const std::string &topic, const void *data, size_t length) {
    if (!has_room()) {
        return DYNO_REFUSED;
    }
    check();
    outstanding_.fetch_add(1);
    const int code =
        mosquitto_publish(library_, nullptr, topic.c_str(), static_cast<int>(length), data, qos_, false);
    if (code != MOSQ_ERR_SUCCESS) {
        outstanding_.fetch_sub(1);
        checked("mosquitto_publish", code);
    }
    return DYNO_OK;
}

void Client::tell(const std::string &topic, const std::string &text) {
    outstanding_.fetch_add(1);
    const int code = mosquitto_publish(library_, nullptr, topic.c_str(), static_cast<int>(text.size()), text.data(), 0,
                                       false);
    if (code != MOSQ_ERR_SUCCESS) {
        outstanding_.fetch_sub(1);
    }
}

void Client::subscribe(const std::string &topic, int qos, Handler handler) {
    {
        const std::lock_guard<std::mutex> lock(handlers_mutex_);
        handlers_[topic] = {std::move(handler), qos};
    }
    const int code = mosquitto_subscribe(library_, nullptr, topic.c_str(), qos);
    if (code != MOSQ_ERR_SUCCESS) {
        unsubscribe(topic);
        checked("mosquitto_subscribe", code);
    }
}

void Client::unsubscribe(const std::string &topic) {
    // Where the connection has ended, so has the subscription.
    mosquitto_unsubscribe(library_, nullptr, topic.c_str());
    const std::lock_guard<std::mutex> lock(handlers_mutex_);
    handlers_.erase(topic);
}

void Client::check() const {
    const int code = lost_.load(std::memory_order_relaxed);
    if (code != MOSQ_ERR_SUCCESS) {
        throw Error(DYNO_PEER_GONE, std::string("the connection to the MQTT broker has ended: ") +
                                        mosquitto_strerror(code));
    }
}

} // namespace dyno::mqtt
