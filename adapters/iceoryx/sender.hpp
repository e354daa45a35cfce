// The writing end of a channel: an untyped publisher that also says how many subscribers it has.
#ifndef DYNO_ICEORYX_SENDER_HPP
#define DYNO_ICEORYX_SENDER_HPP

#include "runtime.hpp"

#include "iceoryx_posh/popo/untyped_publisher.hpp"

// The library's port, which also counts the queues of its subscribers.
class Port : public iox::popo::PublisherPortUser {
  public:
    explicit Port(iox::cxx::not_null<MemberType_t *const> data) : PublisherPortUser(data), data_(data) {}
    uint32_t subscribers() const;

  private:
    MemberType_t *data_;
};

struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel);
    ~dyno_sender();
    uint32_t matched();
    dyno_status loan(size_t length, void **buffer);
    dyno_status send(void *buffer, size_t length);

  private:
    // Gives access to the port, which the library keeps to its own classes.
    struct Publisher : iox::popo::UntypedPublisherImpl<iox::popo::BasePublisher<Port>> {
        using Base = iox::popo::UntypedPublisherImpl<iox::popo::BasePublisher<Port>>;
        using Base::Base;
        using Base::port;
    };
    std::shared_ptr<Runtime> runtime_;
    Publisher publisher_;
    // Lent and not sent yet.
    void *lent_ = nullptr;
};

#endif
