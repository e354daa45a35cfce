#include "domain.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

namespace dyno::cyclonedds {

namespace {

// Domain numbers on the wire are 1 to 29: number n uses the ports 7400 + 250 n and up (DDSI-RTPS
// 2.3, section 9.6.1.1), which stays below the ports that Dyno gives out.
constexpr uint32_t DOMAINS = 29;

// The most processes of one host with the same number; the library's own value of 9 is soon reached
// by trials that run at the same time. Discovery sends a message to each of their ports.
constexpr int LAST_INDEX = 39;

// A whole-number option with its unit, or nothing where it is left out or 0.
std::string quantity(const Options &options, const char *name, const char *unit) {
    const long long value = options.integer(name, 0);
    return value ? std::to_string(value) + unit : std::string();
}

// FNV-1a.
uint32_t hash(const std::string &text) {
    uint32_t value = 2166136261u;
    for (const char c : text) {
        value = (value ^ static_cast<uint8_t>(c)) * 16777619u;
    }
    return value;
}

std::string element(const char *name, const std::string &value) {
    return value.empty() ? "" : std::string("<") + name + ">" + value + "</" + name + ">";
}

// For an attribute of an element.
std::string attribute(const char *element, const char *name, const std::string &value) {
    return value.empty() ? "" : std::string("<") + element + " " + name + "=\"" + value + "\"/>";
}

std::string peer_list(const std::string &addresses) {
    std::string list;
    for (size_t start = 0; start < addresses.size();) {
        const size_t end = std::min(addresses.find(',', start), addresses.size());
        list += attribute("Peer", "Address", addresses.substr(start, end - start));
        start = end + 1;
    }
    return list;
}

std::string configuration(const dyno_context &context, const Settings &settings) {
    const std::string address = context.address;
    const bool loopback = address.rfind("127.", 0) == 0;
    const uint32_t number = settings.domain ? settings.domain : 1 + hash(context.session) % DOMAINS;
    const std::string peers = settings.peers.empty() && loopback ? address : settings.peers;
    return "<CycloneDDS><Domain Id=\"any\"><General>"
           "<Interfaces><NetworkInterface address=\"" +
           address + "\"/></Interfaces>" + element("AllowMulticast", loopback ? "false" : "") +
           element("MaxMessageSize", settings.message_size) + element("FragmentSize", settings.fragment_size) +
           "</General><Discovery>" + element("Tag", context.session) +
           element("ExternalDomainId", std::to_string(number)) +
           element("ParticipantIndex", "auto") + element("MaxAutoParticipantIndex", std::to_string(LAST_INDEX)) +
           element("Peers", peer_list(peers)) + element("LeaseDuration", settings.lease) +
           "</Discovery><Internal>" +
           // Dyno's writers have the priority 0.
           element("SynchronousDeliveryPriorityThreshold", settings.queued ? "1" : "") +
           attribute("SocketReceiveBufferSize", "max", settings.receive_buffer) +
           element("Watermarks", element("WhcHigh", settings.writer_cache)) + "</Internal></Domain></CycloneDDS>";
}

std::string advice(const dyno_context &context) {
    return "the library says why on standard error; is " + std::string(context.address) +
           " the IPv4 address of an interface, and do no more than " + std::to_string(LAST_INDEX + 1) +
           " processes use Cyclone DDS at a time?";
}

} // namespace

Settings::Settings(const dyno_context &context) {
    const Options options(context);
    reliable = options.boolean("reliable", true);
    const long long most = std::numeric_limits<int32_t>::max();
    history = static_cast<int32_t>(std::min(options.integer("history", 0), most));
    arrays = options.text("type", "sequence") == "array";
    as_shipped = options.boolean("as_shipped", false);
    send_timeout = DDS_MSECS(options.integer("send_timeout_ms", 10'000));
    queued = options.text("delivery", "direct") == "queued";
    domain = static_cast<uint32_t>(options.integer("domain", 0));
    lease = quantity(options, "lease_ms", " ms");
    message_size = quantity(options, "message_bytes", " B");
    fragment_size = quantity(options, "fragment_bytes", " B");
    receive_buffer = quantity(options, "receive_buffer_bytes", " B");
    writer_cache = quantity(options, "writer_cache_bytes", " B");
    peers = options.text("peers", "");
    const auto strange = [](unsigned char c) { return !std::isalnum(c) && !std::strchr(".:,-", c); };
    if (std::any_of(peers.begin(), peers.end(), strange)) {
        throw Error(DYNO_BAD_OPTION, "`peers` is \"" + peers + "\"; write addresses separated by commas");
    }
}

dds_return_t checked(const char *call, dds_return_t result) {
    if (result < 0) {
        throw Error(DYNO_ERROR, std::string(call) + ": " + dds_strretcode(result));
    }
    return result;
}

Entity::Entity(const char *call, dds_entity_t made) : entity_(checked(call, made)) {}

Entity::~Entity() {
    // It may have been deleted with its parent; there is nobody to tell otherwise.
    (void)dds_delete(entity_);
}

Domain::Domain(dds_domainid_t number, const std::string &configuration)
    : number_(number), entity_("dds_create_domain", dds_create_domain(number, configuration.c_str())) {}

std::shared_ptr<Domain> Domain::join(const dyno_context &context, const Settings &settings) {
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<Domain>> of_session;
    // The number within the process; others only see the ExternalDomainId.
    static dds_domainid_t next = 0;

    const std::lock_guard<std::mutex> guard(mutex);
    std::weak_ptr<Domain> &known = of_session[context.session];
    std::shared_ptr<Domain> domain = known.lock();
    if (!domain) {
        try {
            domain = std::make_shared<Domain>(next++, configuration(context, settings));
        } catch (const Error &e) {
            throw Error(e.status, std::string(e.what()) + "; " + advice(context));
        }
        known = domain;
    }
    return domain;
}

} // namespace dyno::cyclonedds
