#include "node.hpp"

#include "dyno_adapter.hpp"
#include "octets.hpp"
#include "residue.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <sstream>

namespace {

// Ports. All participants of a session find theirs by the session's name alone, since nothing else is
// known on every host when a participant is opened. A session has SPAN of them, in this order: one that
// all participants listen at, one spare, then for each participant one for discovery and one for
// messages.
constexpr uint32_t SPAN = 64;
constexpr uint32_t PARTICIPANTS = SPAN / 2 - 1;
// UDP: below the ephemeral range of the kernel and from where DDS has its ports. Where two sessions
// meet, the library moves the later one's ports on by itself.
constexpr uint32_t UDP_FIRST = 7400;
constexpr uint32_t UDP_SESSIONS = 118;
// Shared memory: ports are numbers of 32 bits in names of files; those of UDP are left free.
constexpr uint32_t SHM_SESSIONS = (1u << 26) - 1024;
constexpr uint32_t DOMAINS = 230;                 // 0 to 229 are free for applications (RTPS 2.3, 9.6.1.1).
const char *const GROUP = "239.255.0.1";          // RTPS's own multicast group (RTPS 2.3, 9.6.1.4.1).

// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
uint64_t hash_of(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001b3u;
    }
    // The low bits of FNV-1a are the worst.
    return hash ^ (hash >> 32);
}

struct Ports {
    Ports(const dyno_context &context, bool shared_memory) {
        const uint64_t hash = hash_of(context.session);
        common = shared_memory ? (1024u + static_cast<uint32_t>(hash % SHM_SESSIONS)) * SPAN
                               : UDP_FIRST + static_cast<uint32_t>(hash % UDP_SESSIONS) * SPAN;
        discovery = of(context.participant);
        messages = discovery + 1;
    }
    uint32_t of(uint32_t participant) const { return common + 2 + participant % PARTICIPANTS * 2; }
    uint32_t common;
    uint32_t discovery;
    uint32_t messages;
};

compat::rtps::Locator_t udp(const std::string &address, uint32_t port) {
    compat::rtps::Locator_t locator;
    locator.kind = LOCATOR_KIND_UDPv4;
    if (!compat::rtps::IPLocator::setIPv4(locator, address)) {
        throw dyno::Error(DYNO_BAD_OPTION, "`" + address + "` is not an IPv4 address");
    }
    locator.port = port;
    return locator;
}

bool is_loopback(const std::string &address) { return address.compare(0, 4, "127.") == 0; }

void use_udp(edds::DomainParticipantQos &qos, const dyno_context &context, const Settings &settings) {
    const std::string address = context.address;
    const Ports ports(context, false);
    auto descriptor = std::make_shared<transport::UDPv4TransportDescriptor>();
    descriptor->interfaceWhiteList.push_back(address);
    descriptor->sendBufferSize = settings.socket;
    descriptor->receiveBufferSize = settings.socket;
    descriptor->maxMessageSize = settings.datagram;
    qos.transport().user_transports.push_back(descriptor);

    auto &wire = qos.wire_protocol();
    wire.builtin.metatrafficUnicastLocatorList.push_back(udp(address, ports.discovery));
    wire.default_unicast_locator_list.push_back(udp(address, ports.messages));
    auto &peers = wire.builtin.initialPeersList;
    if (!is_loopback(address)) {
        const auto group = udp(GROUP, ports.common);
        wire.builtin.metatrafficMulticastLocatorList.push_back(group);
        peers.push_back(group);
    }
    std::vector<std::string> hosts = settings.peers;
    hosts.push_back(address);
    for (const std::string &host : hosts) {
        for (uint32_t participant = 0; participant < PARTICIPANTS; participant++) {
            peers.push_back(udp(host, ports.of(participant)));
        }
    }
}

void use_shared_memory(edds::DomainParticipantQos &qos, const dyno_context &context, const Settings &settings) {
    const Ports ports(context, true);
    claim_port(context, ports.common, true);
    claim_port(context, ports.discovery, false);
    claim_port(context, ports.messages, false);
    auto descriptor = std::make_shared<transport::SharedMemTransportDescriptor>();
    descriptor->segment_size(settings.segment);
    descriptor->max_message_size(settings.datagram);
    descriptor->port_queue_capacity(settings.queue);
    qos.transport().user_transports.push_back(descriptor);

    // Only the transport itself can write its locators, which hold a number of this host.
    const std::unique_ptr<transport::TransportInterface> writer(descriptor->create_transport());
    auto &wire = qos.wire_protocol();
    writer->getDefaultMetatrafficMulticastLocators(wire.builtin.metatrafficMulticastLocatorList, ports.common);
    writer->getDefaultMetatrafficUnicastLocators(wire.builtin.metatrafficUnicastLocatorList, ports.discovery);
    writer->getDefaultUnicastLocators(wire.default_unicast_locator_list, ports.messages);
    wire.builtin.initialPeersList = wire.builtin.metatrafficMulticastLocatorList;
}

// The library's transport in shared memory listens at the ports that RTPS gives to a domain (2.3, 9.6.1.1), of
// which one is all participants' and two are each one's. A process numbers its participants from 0 on: these are the
// ones that a trial may have.
constexpr uint32_t NUMBERS = 8;

void claim_ports_of(const dyno_context &context, uint32_t domain, uint32_t number) {
    const uint32_t first = 7400 + 250 * domain + 10 + 2 * number;
    claim_port(context, first, false);
    claim_port(context, first + 1, false);
}

void claim_own_ports(const dyno_context &context, uint32_t domain) {
    claim_port(context, 7400 + 250 * domain, true);
    for (uint32_t number = 0; number < NUMBERS; number++) {
        claim_ports_of(context, domain, number);
    }
}

// A participant's number in its process: the last four bytes of its prefix (RTPSDomainImpl::createParticipant).
uint32_t number_of(const edds::DomainParticipant &participant) {
    uint32_t number = 0;
    for (int byte = 11; byte >= 8; byte--) {
        number = number << 8 | participant.guid().guidPrefix.value[byte];
    }
    return number;
}

// The library's own log would go to the standard output, which is not ours.
void log_to_stderr() {
    static std::once_flag once;
    std::call_once(once, [] {
        auto consumer = std::make_unique<edds::StdoutErrConsumer>();
        consumer->stderr_threshold(edds::Log::Kind::Info);
        edds::Log::ClearConsumers();
        edds::Log::RegisterConsumer(std::move(consumer));
    });
}

template <typename Qos> void set_common(Qos &qos, const Settings &settings, uint64_t most, int16_t id) {
    qos.reliability().kind =
        settings.reliable ? edds::RELIABLE_RELIABILITY_QOS : edds::BEST_EFFORT_RELIABILITY_QOS;
    qos.reliability().max_blocking_time = compat::milliseconds(settings.send_timeout_ms);
    const int32_t samples = settings.samples_for(most);
    qos.history().kind = settings.history > 0 ? edds::KEEP_LAST_HISTORY_QOS : edds::KEEP_ALL_HISTORY_QOS;
    qos.history().depth = samples;
    qos.resource_limits().max_samples = samples;
    qos.resource_limits().max_instances = 1;
    qos.resource_limits().max_samples_per_instance = samples;
    qos.resource_limits().allocated_samples = std::min(samples, qos.resource_limits().allocated_samples);
    if (settings.transport == Transport::data_sharing) {
        // A sample counts as acknowledged when it is taken, not when its loan is returned. The pool is a
        // queue: with two samples beyond the history, the one that is being read is not filled again
        // before the reader has taken the next.
        qos.resource_limits().extra_samples = 2;
        qos.data_sharing().on("");
        qos.endpoint().entity_id = id;
    } else {
        qos.data_sharing().off();
    }
}

} // namespace

int16_t EntityIds::take() {
    for (int16_t tried = first; tried <= last; tried++) {
        const int16_t id = next_;
        next_ = static_cast<int16_t>(next_ == last ? first : next_ + 1);
        if (!used_[id]) {
            used_[id] = true;
            return id;
        }
    }
    throw dyno::Error(DYNO_UNSUPPORTED, "with data sharing a participant has at most " + std::to_string(last) +
                                            " senders and as many receivers; use `transport = \"shm\"`");
}

void EntityIds::release(int16_t id) {
    if (id >= first) {
        used_[id] = false;
    }
}

dyno_node::dyno_node(const dyno_context &context) : settings(context) {
    try {
        open(context);
    } catch (...) {
        close();
        throw;
    }
}

dyno_node::~dyno_node() { close(); }

void dyno_node::open(const dyno_context &context) {
    // One at a time: a segment is found by its being new. It also makes the first one set what holds
    // for the process.
    static std::mutex one;
    const std::lock_guard<std::mutex> alone(one);
    log_to_stderr();
    if (!settings.as_shipped) {
        compat::set_intraprocess(settings.intraprocess);
    }
    const auto domain = static_cast<uint32_t>(hash_of(context.session) % DOMAINS);
    if (settings.as_shipped) {
        claim_own_ports(context, domain);
    }
    const auto before = own_segments();
    const auto qos = participant_qos(context);
    auto *factory = edds::DomainParticipantFactory::get_instance();
    participant = factory->create_participant(domain, qos, nullptr, edds::StatusMask::none());
    if (participant == nullptr) {
        throw dyno::Error(DYNO_ERROR,
                          std::string("create_participant failed, the reason is on the standard error; is ") +
                              context.address + " an address of this host, and /dev/shm not full?");
    }
    if (settings.shared_memory() || settings.as_shipped) {
        claim_segments(context, before);
    }
    if (settings.as_shipped && number_of(*participant) >= NUMBERS) {
        claim_ports_of(context, domain, number_of(*participant));
    }
    if (settings.transport == Transport::data_sharing || settings.as_shipped) {
        claim_data_sharing(context);
    }
    publisher = participant->create_publisher(edds::PUBLISHER_QOS_DEFAULT, nullptr, edds::StatusMask::none());
    subscriber = participant->create_subscriber(edds::SUBSCRIBER_QOS_DEFAULT, nullptr, edds::StatusMask::none());
    if (publisher == nullptr || subscriber == nullptr) {
        throw dyno::Error(DYNO_ERROR, "create_publisher or create_subscriber failed");
    }
}

void dyno_node::close() {
    if (participant != nullptr) {
        // Ends are closed before their node, so that this has nothing left to refuse.
        participant->delete_contained_entities();
        edds::DomainParticipantFactory::get_instance()->delete_participant(participant);
        participant = nullptr;
    }
}

edds::DomainParticipantQos dyno_node::participant_qos(const dyno_context &context) const {
    edds::DomainParticipantQos qos;
    qos.name(std::string(context.session) + "-p" + std::to_string(context.participant));
    if (settings.as_shipped) {
        return qos;
    }
    qos.transport().use_builtin_transports = false;
    if (settings.shared_memory()) {
        use_shared_memory(qos, context, settings);
    } else {
        use_udp(qos, context, settings);
    }
    auto &discovery = qos.wire_protocol().builtin.discovery_config;
    discovery.leaseDuration = compat::milliseconds(settings.lease_ms);
    // An answer to the first announcement may come before the library listens, and is not repeated:
    // then it is the other side's next announcement that counts.
    discovery.initial_announcements.count = settings.announcements;
    discovery.leaseDuration_announcementperiod = compat::milliseconds(settings.lease_ms / 4);
    return qos;
}

// The names of the shared histories are made of the participant's number, which is only known now, and
// the endpoint's, which is ours to choose (DataSharingPayloadPool::generate_segment_name).
void dyno_node::claim_data_sharing(const dyno_context &context) const {
    for (int16_t id = EntityIds::first; id <= EntityIds::last; id++) {
        for (const char *kind : {"3", "4"}) { // A writer's and a reader's without key (RTPS 2.3, 9.3.1.2).
            std::stringstream name;
            name << "fast_datasharing_" << participant->guid().guidPrefix << "_0.0." << std::hex << id << "." << kind;
            claim_shared(context, name.str());
        }
    }
}

edds::Topic *dyno_node::topic(const dyno_channel &channel) {
    // Half of what 32 bits count: room for the library's own sums.
    if (channel.max_payload > std::numeric_limits<uint32_t>::max() / 2) {
        throw dyno::Error(DYNO_UNSUPPORTED, "messages of " + std::to_string(channel.max_payload) + " B");
    }
    const auto most = static_cast<uint32_t>(channel.max_payload);
    edds::TypeSupport type(settings.array ? static_cast<Octets *>(new ArrayType(most)) : new SequenceType(most));
    const std::string name = type.get_type_name();
    if (types_.count(name) == 0) {
        if (!compat::register_type(type, participant)) {
            throw dyno::Error(DYNO_ERROR, "register_type " + name + " failed");
        }
        types_.emplace(name, type);
    }
    edds::Topic *topic = participant->create_topic(channel.name, name, edds::TOPIC_QOS_DEFAULT);
    if (topic == nullptr) {
        throw dyno::Error(DYNO_ERROR, std::string("create_topic ") + channel.name + " failed");
    }
    return topic;
}

edds::DataWriterQos dyno_node::writer_qos(uint64_t most, int16_t id) const {
    edds::DataWriterQos qos;
    if (settings.as_shipped) {
        return qos;
    }
    set_common(qos, settings, most, id);
    qos.durability().kind =
        settings.transient_local ? edds::TRANSIENT_LOCAL_DURABILITY_QOS : edds::VOLATILE_DURABILITY_QOS;
    qos.publish_mode().kind = settings.async ? edds::ASYNCHRONOUS_PUBLISH_MODE : edds::SYNCHRONOUS_PUBLISH_MODE;
    auto &times = qos.reliable_writer_qos().times;
    compat::heartbeat(times, compat::milliseconds(settings.heartbeat_ms));
    compat::writer_response(times, compat::milliseconds(settings.response_ms));
    return qos;
}

edds::DataReaderQos dyno_node::reader_qos(uint64_t most, int16_t id) const {
    edds::DataReaderQos qos;
    if (settings.as_shipped) {
        return qos;
    }
    set_common(qos, settings, most, id);
    qos.durability().kind = edds::VOLATILE_DURABILITY_QOS;
    compat::reader_response(qos.reliable_reader_qos().times, compat::milliseconds(settings.response_ms));
    return qos;
}
