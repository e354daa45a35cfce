// One participant of the library, and the endpoints' settings.
#ifndef DYNO_FASTDDS_NODE_HPP
#define DYNO_FASTDDS_NODE_HPP

#include "compat.hpp"
#include "options.hpp"

#include <map>
#include <string>

#define DYNO_FASTDDS_ENDPOINTS 32

// The numbers of the writers or the readers of a participant. Only with data sharing, where the number
// is part of a name that has to be known when the participant is opened.
class EntityIds {
  public:
    // Throws where all are in use.
    int16_t take();
    void release(int16_t id);
    // Every number that `take` may return.
    static constexpr int16_t first = 1;
    static constexpr int16_t last = DYNO_FASTDDS_ENDPOINTS;

  private:
    int16_t next_ = first;
    bool used_[DYNO_FASTDDS_ENDPOINTS + 1] = {};
};

struct dyno_node {
    explicit dyno_node(const dyno_context &context);
    ~dyno_node();
    dyno_node(const dyno_node &) = delete;
    dyno_node &operator=(const dyno_node &) = delete;

    // The topic of a channel, with its type; delete it with participant->delete_topic.
    edds::Topic *topic(const dyno_channel &channel);
    // What both reliability settings and histories come to for messages of at most `most` bytes.
    edds::DataWriterQos writer_qos(uint64_t most, int16_t id) const;
    edds::DataReaderQos reader_qos(uint64_t most, int16_t id) const;
    // A number where numbers are ours to give, else the library's own choice, -1.
    int16_t new_id(EntityIds &ids) { return settings.transport == Transport::data_sharing ? ids.take() : int16_t{-1}; }

    const Settings settings;
    edds::DomainParticipant *participant = nullptr;
    edds::Publisher *publisher = nullptr;
    edds::Subscriber *subscriber = nullptr;
    EntityIds writer_ids;
    EntityIds reader_ids;

  private:
    edds::DomainParticipantQos participant_qos(const dyno_context &context) const;
    void open(const dyno_context &context);
    void claim_data_sharing(const dyno_context &context) const;
    void close();

    std::map<std::string, edds::TypeSupport> types_;
};

#endif
