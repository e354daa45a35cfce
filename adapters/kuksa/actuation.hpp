// Targets of actuators: what an application sets, and what the actuator's provider is asked to do.
#ifndef DYNO_KUKSA_ACTUATION_HPP
#define DYNO_KUKSA_ACTUATION_HPP

#include "client.hpp"

namespace dyno::kuksa {

// Sets the target of one actuator, which the broker hands to its provider and does not keep.
class Actuator {
  public:
    Actuator(Client &client, int32_t id);

    // The text of the next target, to be written before `actuate`.
    std::string &text() { return *request_.mutable_value()->mutable_string(); }
    // Actuate: waits for the broker's answer, which says that the provider's stream has the target.
    void actuate();

  private:
    Client &client_;
    v2::ActuateRequest request_;
};

// The provider of one actuator: a stream to the broker, and a thread that gives the targets to a handler. When it is gone, the
// handler is not called any more.
class ActuatorProvider final : public Values {
  public:
    ActuatorProvider(Client &client, int32_t id, Handler handler);
    ~ActuatorProvider() override;
    ActuatorProvider(const ActuatorProvider &) = delete;
    ActuatorProvider &operator=(const ActuatorProvider &) = delete;

    void check() override;

  private:
    void listen();

    const int32_t id_;
    const Handler handler_;
    std::unique_ptr<ProviderStream> stream_;
    std::thread listener_;
    std::atomic<bool> is_over_{false};
    ::grpc::Status status_;
};

} // namespace dyno::kuksa
#endif
