// The ends of channels: three signals each.
#ifndef DYNO_KUKSA_ENDS_HPP
#define DYNO_KUKSA_ENDS_HPP

#include "actuation.hpp"
#include "client.hpp"
#include "presence.hpp"

#include <map>
#include <mutex>
#include <vector>

// Whether a request waits for its response.
using Asked = std::atomic<bool>;

// One participant.
struct dyno_node {
    explicit dyno_node(const dyno_context &context) : participant(context.participant), client(context) {}

    // What the two ends of a call share; null of a channel of messages.
    std::shared_ptr<Asked> asked(const dyno_channel &channel);

    const uint16_t participant;
    dyno::kuksa::Client client;

  private:
    std::mutex mutex_;
    // By the name of the requests' channel.
    std::map<std::string, std::shared_ptr<Asked>> asked_;
};

// Of requests: who sets the target of the channel's signal; of all others: a provider of its value.
struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel);
    ~dyno_sender() { readers_.leave(); }

    uint32_t matched();
    void *room() { return room_.data(); }
    dyno_status send(size_t length);

  private:
    std::vector<unsigned char> room_;
    // Of responses: whether there is a request to answer.
    const std::shared_ptr<Asked> asked_;
    // One of the two.
    std::unique_ptr<dyno::kuksa::Provider> provider_;
    std::unique_ptr<dyno::kuksa::Actuator> actuator_;
    dyno::broker::Readers readers_;
    std::unique_ptr<dyno::kuksa::Subscriber> hears_readers_;
};

// Of requests: the provider of the channel's signal as an actuator; of all others: a subscriber of its value.
struct dyno_subscription {
    dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~dyno_subscription() { writer_.leave(); }

    bool matched();

  private:
    void show(const std::string &text);

    const dyno_on_message on_message_;
    void *const user_;
    std::vector<unsigned char> room_;
    // Of requests: said when one has come.
    const std::shared_ptr<Asked> asked_;
    std::atomic<bool> is_damaged_{false};
    dyno::broker::Writer writer_;
    std::unique_ptr<dyno::kuksa::Subscriber> hears_writer_;
    std::unique_ptr<dyno::kuksa::Values> values_;
};
#endif
