// The ends of channels, and the events among them.
#ifndef DYNO_VSOMEIP_ENDS_HPP
#define DYNO_VSOMEIP_ENDS_HPP

#include "gate.hpp"
#include "node.hpp"

#include <set>
#include <vector>

// What the C interface holds. A deleted end has released everything.
struct dyno_sender {
    virtual ~dyno_sender() = default;
    virtual uint32_t matched() = 0;
    virtual void *lend(size_t length) = 0;
    virtual void send() = 0;
};
struct dyno_subscription {
    virtual ~dyno_subscription() = default;
    virtual bool matched() = 0;
};

namespace dyno_vsomeip {

// The memory that a sender lends: a payload of the library, which copies it when it is sent.
class Buffer {
  public:
    explicit Buffer(uint64_t max_payload);
    void *lend(size_t length);
    const std::shared_ptr<vsomeip::payload> &payload() const { return payload_; }

  private:
    std::shared_ptr<vsomeip::payload> payload_;
    std::vector<vsomeip::byte_t> blank_;
};

// Offers a service with one event.
class EventSender : public dyno_sender {
  public:
    EventSender(Node &node, const dyno_channel &channel);
    ~EventSender() override;
    uint32_t matched() override;
    void *lend(size_t length) override { return buffer_.lend(length); }
    void send() override;

  private:
    struct Subscribers {
        std::mutex mutex;
        std::set<vsomeip::client_t> local;
        uint32_t remote = 0;
    };
    vsomeip::service_t service_;
    std::shared_ptr<vsomeip::application> application_;
    std::shared_ptr<Subscribers> subscribers_;
    Buffer buffer_;
};

// Requests that service and subscribes to its event.
class EventReader : public dyno_subscription {
  public:
    EventReader(Node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~EventReader() override;
    bool matched() override { return state_->available && state_->accepted; }

  private:
    struct State {
        explicit State(const Seat &seat) : gate(seat.crowd()) {}
        std::atomic<bool> available{false};
        std::atomic<bool> accepted{false};
        Gate gate;
    };
    EventReader(const Node &node, vsomeip::service_t service, const Seat &seat, dyno_on_message on_message, void *user);
    vsomeip::service_t service_;
    std::shared_ptr<vsomeip::application> application_;
    std::shared_ptr<State> state_;
};

} // namespace dyno_vsomeip
#endif
