// The ends of channels.
#ifndef DYNO_DBUS_ENDS_HPP
#define DYNO_DBUS_ENDS_HPP

#include "line.hpp"
#include "presence.hpp"

#include <vector>

// One participant.
struct dyno_node {
    explicit dyno_node(const dyno_context &context);

    // A connection for an end of `channel`: one of its own, or that of the call's two ends.
    std::shared_ptr<dyno::dbus::Line> line(const dyno_channel &channel);

    const uint16_t participant;

  private:
    const std::string address_;
    std::map<std::string, std::shared_ptr<dyno::dbus::Line>> calls_;
};

struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel);
    ~dyno_sender();

    uint32_t matched();
    void *room() { return room_.data(); }
    dyno_status send(size_t length);

  private:
    const std::shared_ptr<dyno::dbus::Line> line_;
    const int32_t carries_;
    const std::string path_, name_;
    std::vector<unsigned char> room_;
    dyno::broker::Readers readers_;
};

struct dyno_receiver {
    dyno_receiver(dyno_node &node, const dyno_channel &channel, bool blocks);
    ~dyno_receiver();

    bool matched();
    dyno_status take(dyno_on_message on_message, void *user);

  private:
    const std::shared_ptr<dyno::dbus::Line> line_;
    const int32_t carries_;
    const int patience_ms_;
    const std::string path_;
    dyno::broker::Writer writer_;
};
#endif
