// The ends of channels: three signals each.
#ifndef DYNO_KUKSA_ENDS_HPP
#define DYNO_KUKSA_ENDS_HPP

#include "client.hpp"
#include "presence.hpp"

#include <vector>

// One participant.
struct dyno_node {
    explicit dyno_node(const dyno_context &context) : participant(context.participant), client(context) {}

    const uint16_t participant;
    dyno::kuksa::Client client;
};

// A provider of the channel's signal.
struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel);
    ~dyno_sender() { readers_.leave(); }

    uint32_t matched();
    void *room() { return room_.data(); }
    dyno_status send(size_t length);

  private:
    std::vector<unsigned char> room_;
    dyno::kuksa::Provider provider_;
    dyno::broker::Readers readers_;
    std::unique_ptr<dyno::kuksa::Subscriber> hears_readers_;
};

// A subscriber of the channel's signal.
struct dyno_subscription {
    dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~dyno_subscription() { writer_.leave(); }

    bool matched();

  private:
    void show(const std::string &text);

    const dyno_on_message on_message_;
    void *const user_;
    std::vector<unsigned char> room_;
    std::atomic<bool> is_damaged_{false};
    dyno::broker::Writer writer_;
    std::unique_ptr<dyno::kuksa::Subscriber> hears_writer_;
    std::unique_ptr<dyno::kuksa::Values> values_;
};
#endif
