// One participant: its seats at applications of the process, and what its ends share.
#ifndef DYNO_VSOMEIP_NODE_HPP
#define DYNO_VSOMEIP_NODE_HPP

#include "seat.hpp"

#include <map>
#include <vector>

namespace dyno_vsomeip {

struct Call;

class Node {
  public:
    explicit Node(const dyno_context &context);

    // Where ends of `channel` are made; it stays as long as the node.
    const Seat &seat(const dyno_channel &channel);
    bool reliable() const { return settings_.transport == Transport::tcp; }
    bool datagrams() const { return settings_.transport == Transport::udp; }
    // The number of a channel's service; refuses what this transport cannot carry.
    vsomeip::service_t service(const dyno_channel &channel) const;
    // The call to which a channel of requests or responses belongs.
    std::shared_ptr<Call> call(const dyno_channel &channel);

  private:
    Settings settings_;
    std::unique_ptr<RoutingStay> routing_;
    std::vector<std::unique_ptr<Seat>> seats_;
    std::map<std::string, std::weak_ptr<Call>> calls_;
};

} // namespace dyno_vsomeip
#endif
