// The ends of channels.
#ifndef DYNO_GRPC_ENDS_HPP
#define DYNO_GRPC_ENDS_HPP

#include "links.hpp"

#include <map>
#include <optional>
#include <vector>

// One participant.
struct dyno_node {
    explicit dyno_node(const dyno_context &context) : participant(context.participant), settings(context) {}

    // The joint of the call that `channel` is a direction of, or one of its own.
    std::shared_ptr<dyno::grpc::Joint> joint(const dyno_channel &channel);

    const uint16_t participant;
    const dyno::grpc::Settings settings;

  private:
    std::map<std::string, std::shared_ptr<dyno::grpc::Joint>> joints_;
};

// A writer: a link to each reader, or the provider's answer to who asked.
struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel);

    uint32_t matched();
    void *room() { return message_.mutable_data()->data(); }
    dyno_status send(size_t length);

  private:
    dyno_status answer();

    const dyno::grpc::Settings settings_;
    const int32_t carries_;
    const size_t most_;
    const std::shared_ptr<dyno::grpc::Joint> joint_;
    dyno::grpc::Message message_;
    std::vector<std::unique_ptr<dyno::grpc::Link>> links_;
};

// A reader: a service, or the caller's place for responses.
struct dyno_subscription {
    dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~dyno_subscription();

    bool matched() const { return joint_->is_met.load(); }

  private:
    const bool takes_responses_;
    const std::shared_ptr<dyno::grpc::Joint> joint_;
    std::optional<dyno::grpc::Service> service_;
};
#endif
