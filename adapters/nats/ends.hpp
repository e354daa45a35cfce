// The ends of channels: a subject each, named as the channel.
#ifndef DYNO_NATS_ENDS_HPP
#define DYNO_NATS_ENDS_HPP

#include "connection.hpp"
#include "presence.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace dyno::nats {

// Where the two ends of a call's provider meet: the request that was taken last, by the subject of its reply.
class Joint {
  public:
    void hold(const char *reply);
    // Writes the subject to answer into `reply`, once. False: there is no request to answer.
    bool release(std::string &reply);

  private:
    std::mutex mutex_;
    std::string reply_;
};

} // namespace dyno::nats

// One participant.
struct dyno_node {
    explicit dyno_node(const dyno_context &context) : participant(context.participant), connection(context) {}

    // The joint of the call that `channel` is a direction of; null where it carries messages.
    std::shared_ptr<dyno::nats::Joint> joint(const dyno_channel &channel);

    const uint16_t participant;
    dyno::nats::Connection connection;

  private:
    std::map<std::string, std::shared_ptr<dyno::nats::Joint>> joints_;
};

struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel);
    ~dyno_sender() { readers_.leave(); }

    uint32_t matched();
    void *room() { return room_.data(); }
    dyno_status send(size_t length);

  private:
    dyno::nats::Connection &connection_;
    const int32_t carries_;
    const std::shared_ptr<dyno::nats::Joint> joint_;
    const std::string subject_;
    std::string reply_; // Where the response to a request goes.
    std::vector<unsigned char> room_;
    dyno::broker::Readers readers_;
    dyno::nats::Listener hears_readers_;
};

namespace dyno::nats {

// What both kinds of readers have.
class Reader {
  public:
    Reader(dyno_node &node, const dyno_channel &channel);
    ~Reader() { writer_.leave(); }

    // Once the messages of the channel are subscribed.
    void announce() { writer_.announce(); }
    bool matched() const;
    void show(natsMsg *message, dyno_on_message on_message, void *user);

  private:
    Connection &connection_;
    const std::shared_ptr<Joint> joint_; // Of a provider.
    broker::Writer writer_;
    Listener hears_writer_;
};

} // namespace dyno::nats

// A reader that is asked.
struct dyno_receiver {
    dyno_receiver(dyno_node &node, const dyno_channel &channel, bool blocks);

    bool matched() const { return reader_.matched(); }
    dyno_status take(dyno_on_message on_message, void *user);

  private:
    const int64_t patience_ms_;
    dyno::nats::Reader reader_;
    dyno::nats::Mailbox mailbox_;
};

// A reader that the library's thread calls.
struct dyno_subscription {
    dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);

    bool matched() const { return reader_.matched(); }

  private:
    dyno::nats::Reader reader_;
    dyno::nats::Listener listener_;
};
#endif
