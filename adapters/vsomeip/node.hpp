// One participant: a vsomeip application, and what its ends share.
#ifndef DYNO_VSOMEIP_NODE_HPP
#define DYNO_VSOMEIP_NODE_HPP

#include "application.hpp"

#include <map>

namespace dyno_vsomeip {

struct Call;

class Node {
  public:
    explicit Node(const dyno_context &context);

    const std::shared_ptr<vsomeip::application> &application() const { return application_->shared(); }
    bool reliable() const { return settings_.transport == Transport::tcp; }
    bool datagrams() const { return settings_.transport == Transport::udp; }
    // The number of a channel's service; refuses what this transport cannot carry.
    vsomeip::service_t service(const dyno_channel &channel) const;
    // The call to which a channel of requests or responses belongs.
    std::shared_ptr<Call> call(const dyno_channel &channel);

  private:
    // The configuration file while the node is open.
    class File {
      public:
        explicit File(const Settings &settings);
        ~File();
        File(const File &) = delete;
        File &operator=(const File &) = delete;

      private:
        std::string path_;
    };
    Settings settings_;
    File file_;
    std::unique_ptr<RoutingStay> routing_;
    std::unique_ptr<Application> application_;
    std::mutex calls_mutex_;
    std::map<std::string, std::weak_ptr<Call>> calls_;
};

} // namespace dyno_vsomeip
#endif
