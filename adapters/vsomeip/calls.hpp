// Calls: the two ends that a node has of one are joined to a client or a server of vsomeip.
#ifndef DYNO_VSOMEIP_CALLS_HPP
#define DYNO_VSOMEIP_CALLS_HPP

#include "ends.hpp"

namespace dyno_vsomeip {

// What the two ends of a call within one node share. Either may come first; the end of the requests
// names the service.
struct Call {
    explicit Call(const Seat &where) : seat(where), responses(seat.crowd()) {}

    const Seat &seat; // of both ends
    std::atomic<bool> available{false}; // caller: the service is there; provider: it is offered
    Gate responses;                     // caller: where responses go
    std::mutex mutex;
    std::shared_ptr<vsomeip::message> request; // provider: the one that was reported last
};

// The caller's sender of requests.
class RequestSender : public dyno_sender {
  public:
    RequestSender(Node &node, const dyno_channel &channel);
    ~RequestSender() override;
    uint32_t matched() override { return call_->available; }
    void *lend(size_t length) override { return buffer_.lend(length); }
    void send() override;

  private:
    vsomeip::service_t service_;
    std::shared_ptr<Call> call_;
    std::shared_ptr<vsomeip::application> application_;
    Buffer buffer_;
    std::shared_ptr<vsomeip::message> request_;
};

// The caller's subscription of responses.
class ResponseReader : public dyno_subscription {
  public:
    ResponseReader(Node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~ResponseReader() override { call_->responses.close(); }
    bool matched() override { return call_->available; }

  private:
    std::shared_ptr<Call> call_;
};

// The provider's subscription of requests: offers the service.
class RequestReader : public dyno_subscription {
  public:
    RequestReader(Node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~RequestReader() override;
    // SOME/IP tells no server who may call it; it is ready once it has offered.
    bool matched() override { return true; }

  private:
    vsomeip::service_t service_;
    std::shared_ptr<Call> call_;
    std::shared_ptr<vsomeip::application> application_;
    std::shared_ptr<Gate> gate_;
};

// The provider's sender of responses.
class ResponseSender : public dyno_sender {
  public:
    ResponseSender(Node &node, const dyno_channel &channel);
    uint32_t matched() override { return call_->available; }
    void *lend(size_t length) override { return buffer_.lend(length); }
    void send() override;

  private:
    std::shared_ptr<Call> call_;
    std::shared_ptr<vsomeip::application> application_;
    Buffer buffer_;
};

} // namespace dyno_vsomeip
#endif
