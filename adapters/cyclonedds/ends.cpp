#include "ends.hpp"

#include <cctype>

using dyno::Error;
using dyno::cyclonedds::checked;
using dyno::cyclonedds::Domain;
using dyno::cyclonedds::Entity;
using dyno::cyclonedds::Inbox;
using dyno::cyclonedds::Settings;
using dyno::cyclonedds::Type;

namespace {

struct Qos {
    explicit Qos(const Settings &settings) {
        if (settings.as_shipped) {
            return;
        }
        const auto reliability = settings.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT;
        dds_qset_reliability(qos, reliability, settings.send_timeout);
        const auto history = settings.history ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL;
        dds_qset_history(qos, history, settings.history);
        // A receiver gets what is sent from its joining on.
        dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
    }
    ~Qos() { dds_delete_qos(qos); }
    Qos(const Qos &) = delete;
    Qos &operator=(const Qos &) = delete;

    dds_qos_t *qos = dds_create_qos();
};

// The channel's name as a topic may have it: the library takes letters, digits, `_` and `/`, so all but
// letters and digits becomes `_` and two hexadecimal digits.
std::string topic_name(const char *channel) {
    constexpr const char *DIGITS = "0123456789abcdef";
    std::string name;
    for (; *channel; channel++) {
        const auto c = static_cast<unsigned char>(*channel);
        if (std::isalnum(c)) {
            name += *channel;
        } else {
            name += {'_', DIGITS[c >> 4], DIGITS[c & 15]};
        }
    }
    return name;
}

dds_entity_t make_topic(const dyno_node &node, const dyno_channel &channel, const Type &type) {
    const std::string name = topic_name(channel.name);
    return dds_create_topic(node.participant.get(), type.descriptor, name.c_str(), nullptr, nullptr);
}

dds_entity_t make_reader(const dyno_node &node, const Entity &topic, const dds_listener_t *listener) {
    const Qos qos(node.settings);
    return dds_create_reader(node.participant.get(), topic.get(), qos.qos, listener);
}

bool reader_matched(const Entity &reader) {
    dds_subscription_matched_status_t status;
    checked("dds_get_subscription_matched_status", dds_get_subscription_matched_status(reader.get(), &status));
    return status.current_count > 0;
}

} // namespace

dyno_node::dyno_node(const dyno_context &context)
    : settings(context), domain(Domain::join(context, settings)),
      participant("dds_create_participant", dds_create_participant(domain->number(), nullptr, nullptr)) {}

dyno_sender::dyno_sender(const dyno_node &node, const dyno_channel &channel)
    : type_(Type::of(node.settings.arrays, channel.max_payload)), sample_(type_, channel.max_payload),
      topic_("dds_create_topic", make_topic(node, channel, type_)),
      writer_("dds_create_writer",
              dds_create_writer(node.participant.get(), topic_.get(), Qos(node.settings).qos, nullptr)) {}

uint32_t dyno_sender::matched() {
    dds_publication_matched_status_t status;
    checked("dds_get_publication_matched_status", dds_get_publication_matched_status(writer_.get(), &status));
    return status.current_count;
}

dyno_status dyno_sender::send(size_t length) {
    sample_.set_length(length);
    const dds_return_t written = dds_write(writer_.get(), sample_.memory());
    if (written == DDS_RETCODE_TIMEOUT) {
        return DYNO_REFUSED;
    }
    checked("dds_write", written);
    return DYNO_OK;
}

bool Inbox::take(dds_entity_t reader, dyno_on_message on_message, void *user) {
    for (;;) {
        void *into = sample_.memory();
        dds_sample_info_t info;
        if (checked("dds_take", dds_take(reader, &into, &info, 1, 1)) == 0) {
            return false;
        }
        // Without valid data it tells that a writer has gone.
        if (info.valid_data) {
            on_message(user, sample_.bytes(), sample_.length());
            return true;
        }
    }
}

dyno_receiver::dyno_receiver(const dyno_node &node, const dyno_channel &channel, bool blocks)
    : type_(Type::of(node.settings.arrays, channel.max_payload)), inbox_(channel, type_),
      topic_("dds_create_topic", make_topic(node, channel, type_)),
      reader_("dds_create_reader", make_reader(node, topic_, nullptr)) {
    if (blocks) {
        checked("dds_set_status_mask", dds_set_status_mask(reader_.get(), DDS_DATA_AVAILABLE_STATUS));
        waitset_.emplace("dds_create_waitset", dds_create_waitset(node.participant.get()));
        checked("dds_waitset_attach", dds_waitset_attach(waitset_->get(), reader_.get(), 0));
    }
}

bool dyno_receiver::matched() const { return reader_matched(reader_); }

dyno_status dyno_receiver::take(dyno_on_message on_message, void *user) {
    if (inbox_.take(reader_.get(), on_message, user)) {
        return DYNO_OK;
    }
    if (!waitset_) {
        return DYNO_NONE;
    }
    checked("dds_waitset_wait", dds_waitset_wait(waitset_->get(), nullptr, 0, DDS_MSECS(DYNO_PATIENCE_MS)));
    return inbox_.take(reader_.get(), on_message, user) ? DYNO_OK : DYNO_NONE;
}

dyno_subscription::dyno_subscription(const dyno_node &node, const dyno_channel &channel, dyno_on_message on_message,
                                     void *user)
    : on_message_(on_message), user_(user), type_(Type::of(node.settings.arrays, channel.max_payload)),
      inbox_(channel, type_), topic_("dds_create_topic", make_topic(node, channel, type_)),
      reader_("dds_create_reader", [&] {
          // The listener is there from the start: what comes before dds_set_listener would lie there
          // until the next message.
          dds_listener_t *listener = dds_create_listener(this);
          dds_lset_data_available(listener, on_data_available);
          const dds_entity_t reader = make_reader(node, topic_, listener);
          dds_delete_listener(listener);
          return reader;
      }()) {}

bool dyno_subscription::matched() const {
    if (failed_.load(std::memory_order_acquire)) {
        throw Error(DYNO_ERROR, "in the listener: " + failure_);
    }
    return reader_matched(reader_);
}

void dyno_subscription::on_data_available(dds_entity_t reader, void *self) noexcept {
    // The library calls one listener of a reader at a time.
    auto &subscription = *static_cast<dyno_subscription *>(self);
    try {
        while (subscription.inbox_.take(reader, subscription.on_message_, subscription.user_)) {
        }
    } catch (const std::exception &e) {
        if (!subscription.failed_.load(std::memory_order_relaxed)) {
            subscription.failure_ = e.what();
            subscription.failed_.store(true, std::memory_order_release);
        }
    }
}
