// One participant: a vsomeip application with its threads.
#ifndef DYNO_VSOMEIP_NODE_HPP
#define DYNO_VSOMEIP_NODE_HPP

#include "settings.hpp"

#include <vsomeip/vsomeip.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace dyno_vsomeip {

struct Call;

class Node {
  public:
    explicit Node(const dyno_context &context);
    ~Node();
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;

    vsomeip::application &application() { return *application_; }
    const std::shared_ptr<vsomeip::application> &shared_application() const { return application_; }
    bool reliable() const { return settings_.transport == Transport::tcp; }
    bool datagrams() const { return settings_.transport == Transport::udp; }
    // The number of a channel's service; refuses what this transport cannot carry.
    vsomeip::service_t service(const dyno_channel &channel) const;
    // The call to which a channel of requests or responses belongs.
    std::shared_ptr<Call> call(const dyno_channel &channel);

  private:
    // Whether the routing manager, where it is ours, has started.
    struct Routing {
        std::mutex mutex;
        std::condition_variable changed;
        bool started = false;
    };
    void start();

    Settings settings_;
    std::shared_ptr<vsomeip::application> application_;
    std::shared_ptr<Routing> routing_;
    std::thread thread_;
    std::mutex calls_mutex_;
    std::map<std::string, std::weak_ptr<Call>> calls_;
};

} // namespace dyno_vsomeip
#endif
