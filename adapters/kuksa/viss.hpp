// A subscription of one signal over VISS version 2: JSON over a WebSocket, which a thread reads.
#ifndef DYNO_KUKSA_VISS_HPP
#define DYNO_KUKSA_VISS_HPP

#include "client.hpp"

namespace dyno::kuksa {

// It is made when the broker has said that it stands. The value from before comes first and is not shown; when the subscription
// is gone, the handler is not called any more.
class VissSubscriber final : public Values {
  public:
    // Throws where nobody has answered within PATIENCE at `address` and `port`, or the broker refuses.
    VissSubscriber(const std::string &address, unsigned short port, const std::string &path, Handler handler);
    ~VissSubscriber() override;
    void check() override;

  private:
    struct Socket;

    void subscribe(const std::string &address, unsigned short port, const std::string &path);
    void listen();

    const Handler handler_;
    std::unique_ptr<Socket> socket_;
    std::atomic<bool> ends_{false}, is_over_{false};
    std::string failure_;
    std::thread listener_;
};

} // namespace dyno::kuksa
#endif
