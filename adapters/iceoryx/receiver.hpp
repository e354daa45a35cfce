// The reading ends of a channel: an untyped subscriber that is polled, or waited for in a WaitSet, or
// heard by a Listener.
#ifndef DYNO_ICEORYX_RECEIVER_HPP
#define DYNO_ICEORYX_RECEIVER_HPP

#include "runtime.hpp"

#include "iceoryx_posh/popo/listener.hpp"
#include "iceoryx_posh/popo/untyped_subscriber.hpp"
#include "iceoryx_posh/popo/wait_set.hpp"
#include "iceoryx_posh/runtime/service_discovery.hpp"

#include <atomic>

// A subscriber, and whether its publisher is there.
class Subscribed {
  public:
    Subscribed(dyno_node &node, const dyno_channel &channel);
    bool matched();
    // Shows one message, if there is one.
    bool take(dyno_on_message on_message, void *user);

  protected:
    std::shared_ptr<Runtime> runtime_;
    iox::popo::UntypedSubscriber subscriber_;

  private:
    iox::capro::ServiceDescription service_;
    // Only until the publisher was seen: it holds a copy of RouDi's whole registry.
    std::unique_ptr<iox::runtime::ServiceDiscovery> discovery_;
    bool publisher_seen_ = false;
};

struct dyno_receiver {
    dyno_receiver(dyno_node &node, const dyno_channel &channel, bool block);
    ~dyno_receiver();
    bool matched() { return waiting_->matched(); }
    dyno_status take(dyno_on_message on_message, void *user);

  private:
    struct Waiting : Subscribed {
        Waiting(dyno_node &node, const dyno_channel &channel, bool block);
        ~Waiting();
        // Where it blocks; one attachment.
        std::unique_ptr<iox::popo::WaitSet<1>> wait_set;
    };
    std::unique_ptr<Waiting> waiting_;
};

struct dyno_subscription {
    dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~dyno_subscription();
    bool matched() { return heard_->matched(); }

  private:
    struct Heard : Subscribed {
        Heard(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
        ~Heard();
        static void on_data(iox::popo::UntypedSubscriber *subscriber, Heard *self);
        const dyno_on_message on_message;
        void *const user;
        std::atomic<bool> calling{false};
        std::atomic<bool> closed{false};
        // With a thread of its own.
        iox::popo::Listener listener;
    };
    std::unique_ptr<Heard> heard_;
};

#endif
