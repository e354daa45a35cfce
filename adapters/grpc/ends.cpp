#include "ends.hpp"

using dyno::grpc::Joint;
using dyno::grpc::Link;
using dyno::grpc::Message;
using dyno::grpc::Sink;

std::shared_ptr<Joint> dyno_node::joint(const dyno_channel &channel) {
    if (channel.carries == DYNO_CARRIES_MESSAGES) {
        return std::make_shared<Joint>();
    }
    auto &joint = joints_[channel.carries == DYNO_CARRIES_REQUESTS ? channel.name : channel.partner];
    if (!joint) {
        joint = std::make_shared<Joint>();
    }
    return joint;
}

dyno_sender::dyno_sender(dyno_node &node, const dyno_channel &channel)
    : settings_(node.settings), carries_(channel.carries), most_(channel.max_payload), joint_(node.joint(channel)) {
    message_.mutable_data()->resize(most_);
    if (carries_ == DYNO_CARRIES_RESPONSES) {
        return;
    }
    for (uint32_t i = 0; i < channel.reader_count; i++) {
        links_.push_back(std::make_unique<Link>(dyno::grpc::target_of(channel.readers[i]), channel.name));
    }
}

uint32_t dyno_sender::matched() {
    if (carries_ == DYNO_CARRIES_RESPONSES) {
        return joint_->is_met.load() ? 1 : 0;
    }
    uint32_t met = 0;
    for (const auto &link : links_) {
        met += link->is_met();
    }
    if (carries_ == DYNO_CARRIES_REQUESTS) {
        joint_->is_met.store(met > 0);
    }
    return met;
}

dyno_status dyno_sender::send(size_t length) {
    // A shorter message is cut off, and the room made whole again: what it holds is written before it is sent.
    message_.mutable_data()->resize(length);
    const struct Whole {
        ~Whole() { text.resize(most); }
        std::string &text;
        const size_t most;
    } whole{*message_.mutable_data(), most_};
    if (carries_ == DYNO_CARRIES_RESPONSES) {
        return answer();
    }
    for (const auto &link : links_) {
        if (carries_ == DYNO_CARRIES_REQUESTS) {
            link->request(message_, [joint = joint_](const Message &response) {
                const std::lock_guard<std::mutex> lock(joint->mutex);
                if (joint->responses.on_message) {
                    joint->responses.on_message(joint->responses.user, response.data().data(), response.data().size());
                }
            });
        } else if (settings_.streams) {
            link->stream(message_);
        } else {
            link->send(message_, settings_.send_timeout_ms);
        }
    }
    return DYNO_OK;
}

dyno_status dyno_sender::answer() {
    const std::lock_guard<std::mutex> lock(joint_->mutex);
    if (!joint_->is_asked || joint_->is_over) {
        return DYNO_REFUSED;
    }
    *joint_->response = message_;
    joint_->is_asked = false;
    joint_->changed.notify_all();
    return DYNO_OK;
}

dyno_subscription::dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message,
                                     void *user)
    : takes_responses_(channel.carries == DYNO_CARRIES_RESPONSES), joint_(node.joint(channel)) {
    const Sink sink{on_message, user};
    if (takes_responses_) {
        const std::lock_guard<std::mutex> lock(joint_->mutex);
        joint_->responses = sink;
        return;
    }
    const dyno_endpoint *own = channel.readers;
    while (own->participant != node.participant) {
        own++; // Whoever opens a reader is among them.
    }
    service_.emplace(*own, channel.name, joint_, channel.carries == DYNO_CARRIES_REQUESTS, sink);
}

dyno_subscription::~dyno_subscription() {
    if (takes_responses_) {
        const std::lock_guard<std::mutex> lock(joint_->mutex);
        joint_->responses = {};
    }
}
