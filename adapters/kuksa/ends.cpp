#include "ends.hpp"

#include "base64.hpp"
#include "viss.hpp"

using dyno::Error;
using dyno::kuksa::Subscriber;

namespace {

// The signals of a channel: `Data`, and what its readers and its writer say of themselves.
std::string path(const dyno_channel &channel, const char *leaf) {
    return "Dyno.C" + std::to_string(channel.id) + "." + leaf;
}

// Enough for what the ends of one channel say before anyone listens.
constexpr uint32_t SAYINGS = 1000;

std::unique_ptr<dyno::kuksa::Values> values_of(dyno_node &node, const dyno_channel &channel,
                                               const dyno::kuksa::Handler &handler) {
    auto &client = node.client;
    if (channel.carries == DYNO_CARRIES_REQUESTS) {
        return std::make_unique<dyno::kuksa::ActuatorProvider>(client, client.id_of(path(channel, "Data")), handler);
    }
    if (client.viss_port() != 0) {
        return std::make_unique<dyno::kuksa::VissSubscriber>(client.address(), client.viss_port(), path(channel, "Data"),
                                                             handler);
    }
    return Subscriber::of(client, client.id_of(path(channel, "Data")), client.queue_depth(), handler);
}

dyno::broker::Tell teller(dyno_node &node, int32_t id) {
    return [&client = node.client, id](const std::string &said) { client.tell(id, said); };
}

} // namespace

std::shared_ptr<Asked> dyno_node::asked(const dyno_channel &channel) {
    if (channel.carries == DYNO_CARRIES_MESSAGES) {
        return nullptr;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    auto &asked = asked_[channel.carries == DYNO_CARRIES_REQUESTS ? channel.name : channel.partner];
    if (!asked) {
        asked = std::make_shared<Asked>(false);
    }
    return asked;
}

dyno_sender::dyno_sender(dyno_node &node, const dyno_channel &channel)
    : room_(channel.max_payload), asked_(channel.carries == DYNO_CARRIES_RESPONSES ? node.asked(channel) : nullptr),
      readers_(teller(node, node.client.id_of(path(channel, "Writer")))),
      hears_readers_(Subscriber::of(node.client, node.client.id_of(path(channel, "Readers")), SAYINGS,
                                    [this](const std::string &said) { readers_.heard(said); })) {
    const int32_t data = node.client.id_of(path(channel, "Data"));
    if (channel.carries == DYNO_CARRIES_REQUESTS) {
        actuator_ = std::make_unique<dyno::kuksa::Actuator>(node.client, data);
    } else {
        provider_ = std::make_unique<dyno::kuksa::Provider>(node.client, data);
    }
    readers_.ask();
}

uint32_t dyno_sender::matched() {
    hears_readers_->check();
    return readers_.count();
}

dyno_status dyno_sender::send(size_t length) {
    if (actuator_) {
        dyno::kuksa::encode(room_.data(), length, actuator_->text());
        actuator_->actuate();
        return DYNO_OK;
    }
    if (asked_ && !asked_->exchange(false)) {
        return DYNO_REFUSED;
    }
    dyno::kuksa::encode(room_.data(), length, provider_->text());
    provider_->publish();
    return DYNO_OK;
}

dyno_subscription::dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message,
                                     void *user)
    : on_message_(on_message), user_(user), room_(channel.max_payload),
      asked_(channel.carries == DYNO_CARRIES_REQUESTS ? node.asked(channel) : nullptr),
      writer_(node.participant, teller(node, node.client.id_of(path(channel, "Readers")))),
      hears_writer_(Subscriber::of(node.client, node.client.id_of(path(channel, "Writer")), SAYINGS,
                                   [this](const std::string &said) { writer_.heard(said); })),
      values_(values_of(node, channel, [this](const std::string &text) { show(text); })) {
    writer_.announce();
}

bool dyno_subscription::matched() {
    values_->check();
    hears_writer_->check();
    if (is_damaged_.load()) {
        throw Error(DYNO_ERROR, "a value is no base64 text of at most the channel's largest message: another provider "
                                "writes the same signal");
    }
    return writer_.is_there();
}

void dyno_subscription::show(const std::string &text) {
    const long long length = dyno::kuksa::decode(text, room_.data(), room_.size());
    if (length < 0) {
        is_damaged_.store(true);
        return;
    }
    if (asked_) {
        asked_->store(true);
    }
    on_message_(user_, room_.data(), static_cast<size_t>(length));
}
