// A participant's connection to the broker.
#ifndef DYNO_MQTT_CLIENT_HPP
#define DYNO_MQTT_CLIENT_HPP

#include "dyno_adapter.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mosquitto.h>
#include <mutex>
#include <string>
#include <thread>

namespace dyno::mqtt {

// What a topic's messages are given to, on the library's thread.
using Handler = std::function<void(const void *, size_t)>;

class Client {
  public:
    // Connects and waits for the broker's word that it accepts.
    explicit Client(const dyno_context &context);
    ~Client();
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    // Has messages of `topic` given to `handler` from now on.
    void subscribe(const std::string &topic, int qos, Handler handler);
    // When it returns, the handler is not called any more.
    void unsubscribe(const std::string &topic);
    // A message of Dyno's, of the stack's quality of service. Waits while too many are outstanding.
    dyno_status send(const std::string &topic, const void *data, size_t length);
    // A short text of the adapter's own. One that cannot be sent any more is nobody's loss.
    void tell(const std::string &topic, const std::string &text);
    // Throws where the connection has ended.
    void check() const;
    int qos() const { return qos_; }

  private:
    static void on_connect(mosquitto *, void *self, int code);
    static void on_message(mosquitto *, void *self, const mosquitto_message *message) noexcept;
    static void on_publish(mosquitto *, void *self, int);
    void connect(const dyno_context &context, int port, bool nodelay);
    void loop();
    void on_reconnect();
    bool has_room();

    const int qos_;
    const int outstanding_limit_;
    const long long send_timeout_ms_;
    const bool reconnects_;
    mosquitto *library_ = nullptr;
    int accepted_ = -1; // The broker's answer to the connection.
    std::thread thread_;
    std::atomic<bool> ends_{false};
    std::atomic<int> lost_{MOSQ_ERR_SUCCESS}; // What ended the connection.
    // Handed to the library, and not yet on the wire (QoS 0) or acknowledged (QoS 1 and 2).
    std::atomic<int> outstanding_{0};
    std::atomic<bool> waits_for_room_{false};
    std::mutex room_mutex_;
    std::condition_variable room_;
    std::mutex handlers_mutex_;
    struct Subscription {
        Handler handler;
        int qos;
    };
    std::map<std::string, Subscription, std::less<>> handlers_;
};

} // namespace dyno::mqtt
#endif
