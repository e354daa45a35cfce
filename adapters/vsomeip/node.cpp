#include "node.hpp"
#include "calls.hpp"
#include "ids.hpp"

namespace dyno_vsomeip {

Node::Node(const dyno_context &context) : settings_(context) {
    if (!settings_.between_hosts() && !settings_.daemon) {
        routing_ = std::make_unique<RoutingStay>(settings_, settings_.participant == 0);
    }
}

const Seat &Node::seat(const dyno_channel &channel) {
    for (const std::unique_ptr<Seat> &seat : seats_) {
        if (seat->suits(channel)) {
            return *seat;
        }
    }
    seats_.push_back(std::make_unique<Seat>(settings_, channel));
    return *seats_.back();
}

vsomeip::service_t Node::service(const dyno_channel &channel) const {
    const std::string name = std::string("channel ") + channel.name;
    const unsigned number = FIRST_SERVICE + channel.id;
    if (settings_.between_hosts() ? channel.id >= REMOTE_CHANNELS : number > LAST_SERVICE) {
        throw dyno::Error(DYNO_UNSUPPORTED, name + " has number " + std::to_string(channel.id) +
                                                ": too many channels for this transport");
    }
    for (uint32_t i = 0; i < channel.reader_count; i++) {
        const std::string reader = channel.readers[i].address;
        if (reader != channel.writer_address && !settings_.between_hosts()) {
            throw dyno::Error(DYNO_BAD_OPTION, "option `transport`: `local` stays within one host, but " + name +
                                                   " leads from " + channel.writer_address + " to " + reader +
                                                   "; use `udp` or `tcp`");
        }
        if (reader == channel.writer_address && settings_.between_hosts()) {
            throw dyno::Error(DYNO_BAD_OPTION, "option `transport`: both ends of " + name + " are at " + reader +
                                                   ", where vsomeip uses Unix sockets whatever is asked for; place "
                                                   "them on different hosts, or use transport `local`");
        }
    }
    return static_cast<vsomeip::service_t>(number);
}

std::shared_ptr<Call> Node::call(const dyno_channel &channel) {
    const char *requests = channel.carries == DYNO_CARRIES_REQUESTS ? channel.name : channel.partner;
    if (!requests) {
        throw dyno::Error(DYNO_ERROR,
                          std::string("channel ") + channel.name + " carries responses but has no partner");
    }
    std::weak_ptr<Call> &known = calls_[requests];
    std::shared_ptr<Call> call = known.lock();
    if (!call) {
        call = std::make_shared<Call>(seat(channel));
        known = call;
    }
    return call;
}

} // namespace dyno_vsomeip
