// The ends of channels: a DDS writer or reader each, with a topic that has the channel's name.
#ifndef DYNO_CYCLONEDDS_ENDS_HPP
#define DYNO_CYCLONEDDS_ENDS_HPP

#include "domain.hpp"
#include "types.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

// One participant.
struct dyno_node {
    explicit dyno_node(const dyno_context &context);

    dyno::cyclonedds::Settings settings;
    std::shared_ptr<dyno::cyclonedds::Domain> domain;
    dyno::cyclonedds::Entity participant;
};

// A writer.
struct dyno_sender {
    dyno_sender(const dyno_node &node, const dyno_channel &channel);

    uint32_t matched();
    void *room() { return sample_.bytes(); }
    dyno_status send(size_t length);

  private:
    dyno::cyclonedds::Type type_;
    dyno::cyclonedds::Sample sample_;
    dyno::cyclonedds::Entity topic_;
    dyno::cyclonedds::Entity writer_;
};

namespace dyno::cyclonedds {

// What a reader takes into.
class Inbox {
  public:
    explicit Inbox(const dyno_channel &channel, const Type &type) : sample_(type, channel.max_payload) {}
    // Takes one message of `reader`, if there is one, without waiting.
    bool take(dds_entity_t reader, dyno_on_message on_message, void *user);

  private:
    Sample sample_;
};

} // namespace dyno::cyclonedds

// A reader that is asked. With DYNO_WAIT_BLOCK it sleeps in a waitset.
struct dyno_receiver {
    dyno_receiver(const dyno_node &node, const dyno_channel &channel, bool blocks);

    bool matched() const;
    dyno_status take(dyno_on_message on_message, void *user);

  private:
    dyno::cyclonedds::Type type_;
    dyno::cyclonedds::Inbox inbox_;
    dyno::cyclonedds::Entity topic_;
    dyno::cyclonedds::Entity reader_;
    std::optional<dyno::cyclonedds::Entity> waitset_;
};

// A reader whose listener takes all there is.
struct dyno_subscription {
    dyno_subscription(const dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);

    bool matched() const;

  private:
    static void on_data_available(dds_entity_t reader, void *self) noexcept;

    dyno_on_message on_message_;
    void *user_;
    // What a take in the listener came to, which has nobody to tell.
    std::atomic<bool> failed_{false};
    std::string failure_;
    dyno::cyclonedds::Type type_;
    dyno::cyclonedds::Inbox inbox_;
    dyno::cyclonedds::Entity topic_;
    // Last: its listener uses all the others, and is silent once it is deleted.
    dyno::cyclonedds::Entity reader_;
};
#endif
