// The stack's options, and the configuration file that vsomeip reads.
#ifndef DYNO_VSOMEIP_SETTINGS_HPP
#define DYNO_VSOMEIP_SETTINGS_HPP

#include "dyno_adapter.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dyno_vsomeip {

enum class Transport {
    local, // Unix sockets between the applications of one host
    udp,   // SOME/IP over UDP between hosts, SOME/IP-TP for what is larger than a datagram
    tcp,   // SOME/IP over TCP between hosts
};

// Everything that a node takes from its context.
struct Settings {
    explicit Settings(const dyno_context &context);

    bool between_hosts() const { return transport != Transport::local; }
    // The name of the application that a participant starts; that of a second or third one has `more` behind it.
    std::string application(uint16_t number, unsigned more = 0) const;
    // The name of the application that hosts the routing manager; empty: the first one of the host.
    std::string routing_host() const;
    // Where the configuration file of an application lies, and what stands in it.
    std::string file(const std::string &name) const;
    std::string json(const std::string &name) const;
    // The trial, the host and all options, in which participants agree that share an application.
    std::string common() const;

    Transport transport;
    bool daemon;         // the routing manager is a process of its own
    std::string session; // of the trial
    uint16_t participant;
    std::string address;
    std::string network; // begins the path of every socket and of the lock file

  private:
    struct Value {
        const char *section;
        const char *key;
        std::string text;
    };
    std::string section(const char *name) const;
    std::string services() const;
    std::string applications(const std::string &name) const;

    std::string scratch_;
    std::string log_;
    unsigned port_;      // of all services, or of the first
    bool has_port_each_; // a port for each service
    std::vector<Value> values_; // what the stack sets; the rest is left to the library
};

// What `describe` lists. Lives as long as the library is loaded.
const std::vector<dyno_option_spec> &option_specs();

} // namespace dyno_vsomeip
#endif
