// MQTT 3.1.1 through a broker, with libmosquitto: a topic per channel, named as the channel.
//
// Connection. A participant has one, to the broker at `port` of its own host, as a client would, and a thread that runs
// the library's loop. An ended connection is an error; nothing connects again behind Dyno's back, unless the stack asks for it
// (`reconnect`), as those do that are measured through outages.
//
// Sending. mosquitto_publish copies the message into the library's queue, from which that thread sends it. The library
// has no limit for that queue, so that a flood would fill the memory: a send waits while more than `outstanding` messages
// have neither left (QoS 0) nor been acknowledged by the broker (QoS 1 and 2).
//
// Receiving. The library's callback, on that thread; there is no other way that does not share the loop between threads.
//
// Calls. A request's topic and a response's topic: MQTT 3.1.1 knows no more of it, so Dyno makes calls of two channels.
//
// Bridges. A broker that joins two others, so that writer and readers have a broker each: as with one, but that the writer asks
// who is there until all are.
//
// Losses. mosquitto keeps `broker_queue` messages for a subscriber that is slower, and drops the next ones without a
// word to anyone: Dyno counts them.
#include "client.hpp"
#include "operations.hpp"
#include "presence.hpp"

#include <vector>

using dyno::None;
using dyno::broker::Readers;
using dyno::broker::Writer;
using dyno::mqtt::Client;

namespace {

// The topic of the channel's messages; what its readers and its writer say of themselves follows behind it.
std::string topic_of(const dyno_channel &channel) { return std::string("dyno/") + channel.name; }

std::string text(const void *data, size_t length) { return {static_cast<const char *>(data), length}; }

} // namespace

struct dyno_node {
    explicit dyno_node(const dyno_context &context) : participant(context.participant), client(context) {}

    const uint16_t participant;
    Client client;
};

struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel)
        : client_(node.client), topic_(topic_of(channel)), readers_topic_(topic_ + "/readers"),
          room_(channel.max_payload), wanted_(channel.reader_count),
          readers_([&client = client_, topic = topic_ + "/writer"](const std::string &said) { client.tell(topic, said); }) {
        client_.subscribe(readers_topic_, 0, [this](const void *data, size_t length) {
            readers_.heard(text(data, length));
        });
        readers_.ask();
    }
    ~dyno_sender() {
        client_.unsubscribe(readers_topic_);
        readers_.leave();
    }

    uint32_t matched() {
        client_.check();
        return readers_.count_behind(wanted_);
    }
    void *room() { return room_.data(); }
    dyno_status send(size_t length) { return client_.send(topic_, room_.data(), length); }

  private:
    Client &client_;
    const std::string topic_, readers_topic_;
    std::vector<unsigned char> room_;
    const uint32_t wanted_;
    Readers readers_;
};

struct dyno_subscription {
    dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user)
        : client_(node.client), topic_(topic_of(channel)), writer_topic_(topic_ + "/writer"),
          writer_(node.participant, [&client = client_, topic = topic_ + "/readers"](const std::string &said) {
              client.tell(topic, said);
          }) {
        client_.subscribe(topic_, client_.qos(),
                          [=](const void *data, size_t length) { on_message(user, data, length); });
        client_.subscribe(writer_topic_, 0, [this](const void *data, size_t length) {
            writer_.heard(text(data, length));
        });
        writer_.announce();
    }
    ~dyno_subscription() {
        client_.unsubscribe(topic_);
        client_.unsubscribe(writer_topic_);
        writer_.leave();
    }

    bool matched() const {
        client_.check();
        return writer_.is_there();
    }

  private:
    Client &client_;
    const std::string topic_, writer_topic_;
    Writer writer_;
};

namespace {

constexpr dyno_option_spec OPTIONS[] = {
    {"max_inflight", DYNO_OPTION_INT, 65'535, nullptr, "20",
     "QoS 1 and 2: how many messages of a client may be in flight in each direction; the library's default: 20"},
    {"nodelay", DYNO_OPTION_BOOL, 0, nullptr, "true",
     "the client switches Nagle's delay off; the library's default: false"},
    {"outstanding", DYNO_OPTION_INT, 0, nullptr, "100",
     "a send waits while this many messages have not left (QoS 0) or are not acknowledged; 0: no limit, the library's default"},
    {"port", DYNO_OPTION_INT, 65'535, nullptr, "17883", "the port of the broker on each participant's host"},
    {"qos", DYNO_OPTION_INT, 2, nullptr, "0",
     "0: at most once; 1: at least once, the receiver of each hop acknowledges; 2: exactly once, two round trips a hop"},
    {"broker_queue", DYNO_OPTION_INT, 0, nullptr, "1000",
     "messages that the broker keeps for a slower subscriber (max_queued_messages); further ones are dropped; "
     "mosquitto's default: 1000"},
    {"reconnect", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "connect again 1 s after a connection has ended, and subscribe again, as the library's own threads do"},
    {"send_timeout_ms", DYNO_OPTION_INT, 3'600'000, nullptr, "10000", "how long a send waits for room, in ms"},
    {"tls", DYNO_OPTION_BOOL, 0, nullptr, "false",
     "the connection is encrypted; the broker's certificate is server.crt in the trial's scratch directory"},
};

const dyno_description *describe() {
    static const std::string version = [] {
        int major, minor, revision;
        mosquitto_lib_version(&major, &minor, &revision);
        return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(revision);
    }();
    static const dyno_description description = [] {
        dyno_description d = {};
        d.name = "mqtt";
        d.version = version.c_str();
        d.summary = "MQTT 3.1.1 through a broker, with libmosquitto: topics over one TCP connection of each participant.";
        // The remaining length of a packet (MQTT 3.1.1, section 2.2.3), less the topic and the message's number.
        d.max_message = 268'435'455 - 1024;
        d.option_count = sizeof OPTIONS / sizeof OPTIONS[0];
        d.options = OPTIONS;
        return d;
    }();
    return &description;
}

constexpr dyno_adapter_ops OPS = dyno::operations<dyno_node, dyno_sender, None, dyno_subscription>(
    DYNO_CAN_CALLBACK | DYNO_CAN_RELIABLE | DYNO_CAN_BEST_EFFORT | DYNO_CAN_THREAD | DYNO_CAN_PROCESS | DYNO_CAN_HOST |
        DYNO_SENDS_LATER,
    describe);

// libmosquitto is made ready once, and left again when the adapter's library is unloaded.
struct Library {
    Library() { mosquitto_lib_init(); }
    ~Library() { mosquitto_lib_cleanup(); }
} const LIBRARY;

} // namespace

const dyno_adapter_ops *dyno_adapter(void) { return &OPS; }
