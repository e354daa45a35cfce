#include "settings.hpp"
#include "ids.hpp"

#include <algorithm>
#include <sstream>
#include <sys/un.h>

namespace dyno_vsomeip {

namespace {

// Where vsomeip makes its sockets unless it was built otherwise.
const char BASE[] = "/tmp/";

const char *const TRANSPORTS[] = {"local", "udp", "tcp", nullptr};
const char *const ROUTINGS[] = {"in-process", "daemon", nullptr};
const char *const PORTS[] = {"shared", "each", nullptr};

// The highest number that a port can have.
constexpr long long LAST_PORT = 65'535;

// Options that are handed to vsomeip as they are: the section of the configuration file and the key.
struct Direct {
    const char *option;
    int32_t kind;
    const char *section;
    const char *key;
    const char *doc;
};

const Direct DIRECT[] = {
    {"request_debounce_time", DYNO_OPTION_INT, "application", "request_debounce_time",
     "how long requests for services are collected before they go to the routing manager, in ms; vsomeip's default: 10"},
    {"threads", DYNO_OPTION_INT, "application", "threads", "threads of an application for its sockets; vsomeip's default: 2"},
    {"npdu_debounce_request", DYNO_OPTION_INT, "npdu-default-timings", "debounce-time-request",
     "least time between two requests of a method to a remote host, in ms; vsomeip's default: 2"},
    {"npdu_debounce_response", DYNO_OPTION_INT, "npdu-default-timings", "debounce-time-response",
     "least time between two events or responses of a method to a remote host, in ms; vsomeip's default: 2"},
    {"npdu_retention_request", DYNO_OPTION_INT, "npdu-default-timings", "max-retention-time-request",
     "how long a request to a remote host may wait for others to share its packet, in ms; vsomeip's default: 5"},
    {"npdu_retention_response", DYNO_OPTION_INT, "npdu-default-timings", "max-retention-time-response",
     "how long an event or response to a remote host may wait for others to share its packet, in ms; vsomeip's default: 5"},
    {"sd_multicast", DYNO_OPTION_TEXT, "service-discovery", "multicast",
     "the multicast address of service discovery; vsomeip's default: 224.224.224.0"},
    {"sd_port", DYNO_OPTION_INT, "service-discovery", "port", "the port of service discovery; vsomeip's default: 30490"},
    {"sd_initial_delay_min", DYNO_OPTION_INT, "service-discovery", "initial_delay_min",
     "shortest delay before the first offer, in ms; vsomeip's default: 0"},
    {"sd_initial_delay_max", DYNO_OPTION_INT, "service-discovery", "initial_delay_max",
     "longest delay before the first offer, in ms; vsomeip's default: 3000"},
    {"sd_repetitions_base_delay", DYNO_OPTION_INT, "service-discovery", "repetitions_base_delay",
     "delay between the first and the second offer, which doubles with each further one, in ms; vsomeip's default: 10"},
    {"sd_repetitions_max", DYNO_OPTION_INT, "service-discovery", "repetitions_max",
     "how many offers are repeated at that pace; vsomeip's default: 3"},
    {"sd_cyclic_offer_delay", DYNO_OPTION_INT, "service-discovery", "cyclic_offer_delay",
     "time between all later offers, in ms; vsomeip's default: 1000"},
    {"sd_ttl", DYNO_OPTION_INT, "service-discovery", "ttl",
     "how long an offer or a subscription holds unless it is repeated, in s; vsomeip's default: until the next start"},
    {"sd_request_response_delay", DYNO_OPTION_INT, "service-discovery", "request_response_delay",
     "least delay of an answer to a multicast message, in ms; vsomeip's default: 2000"},
    {"sd_offer_debounce_time", DYNO_OPTION_INT, "service-discovery", "offer_debounce_time",
     "how long new offers are collected before the first is sent, in ms; vsomeip's default: 500"},
    {"buffer_shrink_threshold", DYNO_OPTION_INT, "", "buffer-shrink-threshold",
     "how many messages below half the size of a receive buffer make it shrink; 0: never; vsomeip's default: 5"},
    {"udp_receive_buffer_size", DYNO_OPTION_INT, "", "udp-receive-buffer-size",
     "the receive buffer of UDP sockets in bytes, as far as the kernel allows; vsomeip's default: 1703936"},
    {"queue_limit_local", DYNO_OPTION_INT, "", "endpoint-queue-limit-local",
     "bytes that may wait for a local receiver; further messages are lost; vsomeip's default: no limit"},
    {"queue_limit_external", DYNO_OPTION_INT, "", "endpoint-queue-limit-external",
     "bytes that may wait for a remote receiver; further messages are lost; vsomeip's default: no limit"},
    {"shutdown_timeout", DYNO_OPTION_INT, "", "shutdown_timeout",
     "how long an application waits for the routing manager when it ends, in ms; vsomeip's default: 5000"},
};

std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + "\"";
}

// `"key": "text"`: vsomeip takes numbers and truth values as text, too.
std::string entry(const char *key, const std::string &text) { return quoted(key) + ": " + quoted(text); }

std::string entry(const char *key, unsigned number) { return entry(key, std::to_string(number)); }

std::string list(const std::string &item) { return "[" + item + "]"; }

// The part of a socket's path that the configuration may choose: vsomeip puts its base path before
// it, and "-" and the application's number behind.
std::string network_in(const std::string &scratch, const std::string &name) {
    const size_t base = sizeof BASE - 1;
    const bool below = scratch.compare(0, base, BASE) == 0;
    const std::string network = (below ? scratch.substr(base) : ".." + scratch) + "/" + name;
    const size_t longest = base + network.size() + sizeof "-ffff";
    if (longest > sizeof(sockaddr_un::sun_path)) {
        throw dyno::Error(DYNO_ERROR, "the scratch directory's path " + scratch + " is " +
                                          std::to_string(longest - sizeof(sockaddr_un::sun_path)) +
                                          " bytes too long for Unix sockets; set TMPDIR to a shorter path");
    }
    return network;
}

} // namespace

const std::vector<dyno_option_spec> &option_specs() {
    static const std::vector<dyno_option_spec> specs = [] {
        std::vector<dyno_option_spec> all = {
            {"transport", DYNO_OPTION_ONE_OF, 0, TRANSPORTS, "local",
             "Unix sockets within a host, or SOME/IP over UDP or TCP between hosts"},
            {"routing", DYNO_OPTION_ONE_OF, 0, ROUTINGS, "in-process",
             "who hosts the routing manager: a participant, or routingmanagerd"},
            {"port", DYNO_OPTION_INT, LAST_PORT, nullptr, "30509",
             "the port of the services with `udp` and `tcp`; with `ports = \"each\"` the first one"},
            {"ports", DYNO_OPTION_ONE_OF, 0, PORTS, "shared",
             "shared: all services of a host have one port, and their messages to another host wait in one queue; each: a "
             "port and a queue for each service, 128 ports in all"},
            {"log", DYNO_OPTION_TEXT, 0, nullptr, "", "a file that vsomeip writes its log to; empty: none"},
        };
        for (const Direct &d : DIRECT) {
            all.push_back({d.option, d.kind, 0, nullptr, nullptr, d.doc});
        }
        return all;
    }();
    return specs;
}

Settings::Settings(const dyno_context &context)
    : session(context.session), participant(context.participant), address(context.address), scratch_(context.scratch) {
    const dyno::Options options(context);
    const std::string wanted = options.text("transport", TRANSPORTS[0]);
    transport = wanted == "udp" ? Transport::udp : wanted == "tcp" ? Transport::tcp : Transport::local;
    // One routing manager for each host; a host is known by its address.
    network = network_in(context.scratch, between_hosts() ? address : "v");
    daemon = options.text("routing", ROUTINGS[0]) == "daemon";
    if (daemon && transport != Transport::local) {
        throw dyno::Error(DYNO_BAD_OPTION,
                          "option `routing`: `daemon` goes with transport `local` only, not `" + wanted + "`");
    }
    const long long port = options.integer("port", 30'509);
    has_port_each_ = options.text("ports", PORTS[0]) == "each";
    const long long last = port + (has_port_each_ ? REMOTE_CHANNELS - 1 : 0);
    if (port < 1 || last > LAST_PORT) {
        throw dyno::Error(DYNO_BAD_OPTION, "option `port`: the services' ports would be " + std::to_string(port) + " to " +
                                               std::to_string(last) + "; they must lie within 1 to 65535");
    }
    port_ = static_cast<unsigned>(port);
    log_ = options.text("log", "");
    for (const Direct &d : DIRECT) {
        const std::string text = options.text(d.option, "");
        if (!text.empty()) {
            values_.push_back({d.section, d.key, text});
        }
    }
}

std::string Settings::application(uint16_t number, unsigned more) const {
    const std::string name = session + "-" + std::to_string(number);
    return more == 0 ? name : name + "-" + std::to_string(more);
}

std::string Settings::file(const std::string &name) const { return scratch_ + "/vsomeip-" + name + ".json"; }

std::string Settings::common() const {
    Settings first = *this;
    first.participant = 0;
    return first.json(first.application(0));
}

std::string Settings::routing_host() const {
    if (daemon) {
        return "routingmanagerd";
    }
    // Between hosts nobody knows who else is on this one.
    return between_hosts() ? "" : session + "-routing";
}

// The keys that the stack sets in a section, each with a comma before it.
std::string Settings::section(const char *name) const {
    std::string text;
    for (const Value &value : values_) {
        if (std::strcmp(value.section, name) == 0) {
            text += ", " + entry(value.key, value.text);
        }
    }
    return text;
}

// Services between hosts must be known before the application starts.
std::string Settings::services() const {
    const bool reliable = transport == Transport::tcp;
    const std::string event = quoted(std::to_string(EVENT));
    const std::string method = quoted(std::to_string(METHOD));
    std::string rest = ", " + entry("instance", INSTANCE);
    if (!reliable) {
        rest += R"(, "someip-tp": {"service-to-client": )" + list(event + ", " + method) + "}";
    }
    rest += R"(, "events": [{)" + entry("event", EVENT) + ", " + entry("is_field", "false") + ", " +
            entry("is_reliable", reliable ? "true" : "false") + "}]";
    rest += R"(, "eventgroups": [{)" + entry("eventgroup", EVENTGROUP) + R"(, "events": )" + list(event) + "}]";

    std::string all;
    for (unsigned id = 0; id < REMOTE_CHANNELS; id++) {
        const unsigned port = has_port_each_ ? port_ + id : port_;
        all += (id ? ",\n    {" : "\n    {") + entry("service", FIRST_SERVICE + id) + ", ";
        all += reliable ? R"("reliable": {)" + entry("port", port) + ", " + entry("enable-magic-cookies", "false") + "}"
                        : entry("unreliable", port);
        all += rest + "}";
    }
    return list(all);
}

// The application of that name and the first ones of all participants, since a vsomeip built without support of
// several routing managers reads only one file per process.
std::string Settings::applications(const std::string &name) const {
    // A second dispatcher would report messages out of order and two at a time as soon as a callback takes longer
    // than `max_dispatch_time`.
    const std::string rest = ", " + entry("max_dispatchers", "0") + section("application") + "}";
    const unsigned last = std::max<unsigned>(participant, 15);
    std::string all;
    bool is_among_them = false;
    for (unsigned number = 0; number <= last; number++) {
        const std::string one = application(static_cast<uint16_t>(number));
        is_among_them = is_among_them || one == name;
        all += (number ? ",\n    {" : "\n    {") + entry("name", one) + rest;
    }
    if (!is_among_them) {
        all += ",\n    {" + entry("name", name) + rest;
    }
    return list(all);
}

std::string Settings::json(const std::string &name) const {
    const std::string sink =
        log_.empty() ? entry("enable", "false") : entry("enable", "true") + ", " + entry("path", log_);
    std::ostringstream text;
    text << "{\n  " << entry("unicast", between_hosts() ? address : "127.0.0.1");
    text << ",\n  " << entry("network", network);
    text << ",\n  \"logging\": {" << entry("console", "false") << ", " << entry("dlt", "false") << ", \"file\": {"
         << sink << "}}";
    text << ",\n  " << entry("routing", routing_host());
    text << ",\n  \"applications\": " << applications(name);
    if (between_hosts()) {
        // The upper half of client numbers, which tells a response where to go.
        text << ",\n  " << entry("diagnosis", 1 + participant % 254u);
        text << ",\n  \"services\": " << services();
    }
    const std::string npdu = section("npdu-default-timings");
    if (!npdu.empty()) {
        text << ",\n  \"npdu-default-timings\": {" << npdu.substr(2) << "}";
    }
    // Within a host service discovery stays on as it comes: on the loopback interface it finds no
    // multicast route and is silent. Three remote subscribers, its default, are too few for some
    // topologies.
    text << ",\n  \"service-discovery\": {" << entry("max_remote_subscribers", "255")
         << section("service-discovery") << "}";
    text << section("") << "\n}\n";
    return text.str();
}

} // namespace dyno_vsomeip
