#include "ends.hpp"

#include <utility>

using dyno::nats::Connection;
using dyno::nats::Joint;
using dyno::nats::Message;
using dyno::nats::Reader;

namespace {

// A dot parts the words of a subject, and none may be empty.
std::string subject_of(const char *channel) {
    std::string subject = std::string("dyno.") + channel;
    for (size_t i = 5; i < subject.size(); i++) {
        if (subject[i] == '.') {
            subject[i] = ':';
        }
    }
    return subject;
}

std::string readers_of(const dyno_channel &channel) { return subject_of(channel.name) + ".readers"; }
std::string writer_of(const dyno_channel &channel) { return subject_of(channel.name) + ".writer"; }

std::string text(natsMsg *message) {
    return {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))};
}

} // namespace

void Joint::hold(const char *reply) {
    const std::lock_guard<std::mutex> lock(mutex_);
    reply_ = reply ? reply : "";
}

bool Joint::release(std::string &reply) {
    const std::lock_guard<std::mutex> lock(mutex_);
    reply.swap(reply_);
    reply_.clear();
    return !reply.empty();
}

std::shared_ptr<Joint> dyno_node::joint(const dyno_channel &channel) {
    if (channel.carries == DYNO_CARRIES_MESSAGES) {
        return nullptr;
    }
    auto &joint = joints_[channel.carries == DYNO_CARRIES_REQUESTS ? channel.name : channel.partner];
    if (!joint) {
        joint = std::make_shared<Joint>();
    }
    return joint;
}

dyno_sender::dyno_sender(dyno_node &node, const dyno_channel &channel)
    : connection_(node.connection), carries_(channel.carries), joint_(node.joint(channel)),
      subject_(subject_of(channel.name)),
      reply_(channel.carries == DYNO_CARRIES_REQUESTS ? subject_of(channel.partner) : std::string()),
      room_(channel.max_payload),
      readers_([&connection = connection_, subject = writer_of(channel)](const std::string &said) {
          connection.tell(subject, said);
      }),
      hears_readers_(connection_, readers_of(channel), [this](natsMsg *said) { readers_.heard(text(said)); }) {
    readers_.ask();
}

uint32_t dyno_sender::matched() {
    connection_.check();
    return readers_.count();
}

dyno_status dyno_sender::send(size_t length) {
    switch (carries_) {
    case DYNO_CARRIES_REQUESTS:
        return connection_.publish(subject_.c_str(), reply_.c_str(), room_.data(), length);
    case DYNO_CARRIES_RESPONSES:
        if (!joint_->release(reply_)) {
            return DYNO_REFUSED;
        }
        return connection_.publish(reply_.c_str(), nullptr, room_.data(), length);
    default:
        return connection_.publish(subject_.c_str(), nullptr, room_.data(), length);
    }
}

Reader::Reader(dyno_node &node, const dyno_channel &channel)
    : connection_(node.connection),
      joint_(channel.carries == DYNO_CARRIES_REQUESTS ? node.joint(channel) : nullptr),
      writer_(node.participant,
              [&connection = connection_, subject = readers_of(channel)](const std::string &said) {
                  connection.tell(subject, said);
              }),
      hears_writer_(connection_, writer_of(channel), [this](natsMsg *said) { writer_.heard(text(said)); }) {}

bool Reader::matched() const {
    connection_.check();
    return writer_.is_there();
}

void Reader::show(natsMsg *message, dyno_on_message on_message, void *user) {
    if (joint_) {
        joint_->hold(natsMsg_GetReply(message));
    }
    on_message(user, natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message)));
}

dyno_receiver::dyno_receiver(dyno_node &node, const dyno_channel &channel, bool blocks)
    : patience_ms_(blocks ? DYNO_PATIENCE_MS : 0), reader_(node, channel),
      mailbox_(node.connection, subject_of(channel.name)) {
    reader_.announce();
}

dyno_status dyno_receiver::take(dyno_on_message on_message, void *user) {
    const Message message = mailbox_.take(patience_ms_);
    if (!message) {
        return DYNO_NONE;
    }
    reader_.show(message.get(), on_message, user);
    return DYNO_OK;
}

dyno_subscription::dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message,
                                     void *user)
    : reader_(node, channel),
      listener_(node.connection, subject_of(channel.name),
                [this, on_message, user](natsMsg *message) { reader_.show(message, on_message, user); }) {
    reader_.announce();
}
