// What the stack's options say, and the library's domain that the nodes of a session share.
#ifndef DYNO_CYCLONEDDS_DOMAIN_HPP
#define DYNO_CYCLONEDDS_DOMAIN_HPP

#include <dyno_adapter.hpp>

#include <dds/dds.h>

#include <memory>
#include <string>

namespace dyno::cyclonedds {

// The options of the stack.
struct Settings {
    explicit Settings(const dyno_context &context);

    bool reliable;
    // Messages that each side keeps; 0: all.
    int32_t history;
    bool arrays;
    dds_duration_t send_timeout;
    // Every QoS is the library's own.
    bool as_shipped;
    // Whether the library's receive thread leaves the delivery to a thread of its own.
    bool queued;
    // Settings of the domain as the library's configuration writes them; empty: the library's own.
    std::string lease, message_size, fragment_size, receive_buffer, writer_cache;
    // The domain's number on the wire; 0: it follows from the session's name.
    uint32_t domain;
    // Addresses that discovery asks, separated by commas; empty: see `Domain`.
    std::string peers;
};

// One entity of the library, deleted with this.
class Entity {
  public:
    // Throws Error with the library's words where `made` is an error of `call`.
    Entity(const char *call, dds_entity_t made);
    ~Entity();
    Entity(const Entity &) = delete;
    Entity &operator=(const Entity &) = delete;
    dds_entity_t get() const { return entity_; }

  private:
    dds_entity_t entity_;
};

// Throws Error with the library's words where `result` is an error of `call`.
dds_return_t checked(const char *call, dds_return_t result);

// The library's runtime for one session: sockets, threads and discovery.
//
// Nodes of one process share it, as the participants of any process that uses the library do. To
// others of the machine it is told apart by a tag, the session's name; the domain's number, which
// follows from the session's name too, only spreads the ports. At a loopback address, where Linux
// says that there is no multicast, discovery asks the peer ports of that address; elsewhere it uses
// multicast as the library does by default.
class Domain {
  public:
    // The domain of the context's session in this process.
    static std::shared_ptr<Domain> join(const dyno_context &context, const Settings &settings);
    // The number by which participants are created.
    dds_domainid_t number() const { return number_; }

    Domain(dds_domainid_t number, const std::string &configuration);

  private:
    dds_domainid_t number_;
    Entity entity_;
};

} // namespace dyno::cyclonedds
#endif
