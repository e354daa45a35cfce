#include "ends.hpp"

#include "dyno_adapter.hpp"

#include <algorithm>
#include <thread>
#include <time.h>

namespace {

// Time from a clock that costs a few nanoseconds to read and moves in steps of 1 to 10 ms.
long long coarse_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

[[noreturn]] void fail(const char *call, const std::string &channel, const compat::Code &code) {
    throw dyno::Error(DYNO_ERROR, std::string(call) + " on channel " + channel + " returned code " +
                                      std::to_string(compat::number(code)));
}

[[noreturn]] void fail_to_create(const char *what, const std::string &channel) {
    throw dyno::Error(DYNO_ERROR, std::string("cannot create the ") + what + " of channel " + channel +
                                      ", the reason is on the standard error");
}

} // namespace

Place::Place(dyno_node &node, EntityIds &ids, const dyno_channel &channel)
    : node(node), channel(channel.name), most(channel.max_payload), topic(node.topic(channel)),
      id(node.new_id(ids)), ids_(ids) {}

Place::~Place() {
    node.participant->delete_topic(topic);
    ids_.release(id);
}

dyno_sender::dyno_sender(dyno_node &node, const dyno_channel &channel)
    : place_(node, node.writer_ids, channel),
      writer_(node.publisher->create_datawriter(place_.topic, node.writer_qos(place_.most, place_.id), nullptr,
                                                edds::StatusMask::none()),
              DeleteWriter{&node}) {
    if (!writer_) {
        fail_to_create("writer", place_.channel);
    }
    if (!node.settings.array) {
        sample_ = std::make_unique<Sequence>(static_cast<uint32_t>(place_.most));
    }
}

dyno_sender::~dyno_sender() { give_back(); }

uint32_t dyno_sender::matched() const {
    edds::PublicationMatchedStatus status;
    const auto code = writer_->get_publication_matched_status(status);
    if (code != compat::ok) {
        fail("get_publication_matched_status", place_.channel, code);
    }
    return static_cast<uint32_t>(status.current_count);
}

void dyno_sender::give_back() {
    if (lent_ != nullptr) {
        writer_->discard_loan(lent_);
        lent_ = nullptr;
    }
}

// Calls until there is room, for the time that the stack gives a reliable sender. The library waits by
// itself where it can, but it has no call that waits for a sample to lend, and its write also returns
// early.
template <typename Call> dyno_status dyno_sender::until_room(const char *name, Call call) {
    const long long start = coarse_ns();
    auto code = call();
    if (code == compat::ok) {
        return DYNO_OK;
    }
    const auto &settings = place_.node.settings;
    while (code == compat::timeout || code == compat::out_of_resources) {
        if (settings.as_shipped || !settings.reliable || coarse_ns() - start > settings.send_timeout_ms * 1'000'000) {
            return DYNO_REFUSED;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        code = call();
    }
    if (code != compat::ok) {
        fail(name, place_.channel, code);
    }
    return DYNO_OK;
}

dyno_status dyno_sender::loan(size_t length, void **buffer) {
    if (length > place_.most) {
        throw dyno::Error(DYNO_UNSUPPORTED, std::to_string(length) + " B on channel " + place_.channel +
                                                ", whose largest message has " + std::to_string(place_.most) + " B");
    }
    if (sample_) {
        *buffer = sample_->data.get();
        return DYNO_OK;
    }
    // What was lent before and not sent.
    give_back();
    void *sample = nullptr;
    const dyno_status status = until_room("loan_sample", [&] {
        return writer_->loan_sample(sample, edds::DataWriter::LoanInitializationKind::NO_LOAN_INITIALIZATION);
    });
    if (status != DYNO_REFUSED) {
        lent_ = sample;
        *buffer = static_cast<Array *>(lent_)->data();
    }
    return status;
}

dyno_status dyno_sender::send(void *, size_t length) {
    void *sample = sample_.get();
    if (sample_) {
        sample_->length = static_cast<uint32_t>(length);
    } else {
        sample = lent_;
        static_cast<Array *>(lent_)->length = static_cast<uint32_t>(length);
    }
    const dyno_status status = until_room("write", [&] { return writer_->write(sample, edds::HANDLE_NIL); });
    if (status != DYNO_REFUSED) {
        lent_ = nullptr; // The library's again.
    } else {
        give_back();
    }
    return status;
}

Reader::Reader(dyno_node &node, const dyno_channel &channel, edds::DataReaderListener *listener)
    : place_(node, node.reader_ids, channel),
      reader_(node.subscriber->create_datareader(
                  place_.topic, node.reader_qos(place_.most, place_.id), listener,
                  listener == nullptr ? edds::StatusMask::none() : edds::StatusMask::data_available()),
              DeleteReader{&node}) {
    if (!reader_) {
        fail_to_create("reader", place_.channel);
    }
}

Reader::~Reader() {
    if (place_.node.settings.transport == Transport::data_sharing) {
        empty();
    }
}

// Takes what is still there or under way. With data sharing the library's own thread hands a message over
// again and again until the reader accepts it, and a reader that is being deleted accepts none: it waits
// for that thread for ever (`DataSharingListener::process_new_data`, Fast DDS 2.9).
void Reader::empty() noexcept {
    constexpr long long QUIET_MS = 20;
    constexpr long long MOST_NS = 1'000'000'000; // For a sender that goes on.
    const long long start = coarse_ns();
    dyno::guarded("close", [&] {
        do {
            while (take_from(*reader_, [](void *, const void *, size_t) {}, nullptr) == DYNO_OK) {
            }
        } while (reader_->wait_for_unread_message(compat::milliseconds(QUIET_MS)) && coarse_ns() - start < MOST_NS);
        return DYNO_OK;
    });
}

bool Reader::matched() const {
    edds::SubscriptionMatchedStatus status;
    const auto code = reader_->get_subscription_matched_status(status);
    if (code != compat::ok) {
        fail("get_subscription_matched_status", place_.channel, code);
    }
    return status.current_count > 0;
}

dyno_status Reader::take_from(edds::DataReader &reader, dyno_on_message on_message, void *user) {
    for (;;) {
        const auto code = reader.take(loans_, infos_, 1);
        if (code == compat::no_data) {
            return DYNO_NONE;
        }
        if (code != compat::ok) {
            fail("take", place_.channel, code);
        }
        // Without data: the writer has gone, for example.
        const bool shown = infos_[0].valid_data;
        if (shown && place_.node.settings.array) {
            const auto *sample = static_cast<const Array *>(loans_.first());
            on_message(user, sample->data(), std::min<uint64_t>(sample->length, place_.most));
        } else if (shown) {
            const auto *sample = static_cast<const Sequence *>(loans_.first());
            on_message(user, sample->data.get(), sample->length);
        }
        const auto returned = reader.return_loan(loans_, infos_);
        if (returned != compat::ok) {
            fail("return_loan", place_.channel, returned);
        }
        if (shown) {
            return DYNO_OK;
        }
    }
}

void Reader::wait() {
    // Whether it has come is asked by the next take.
    reader_->wait_for_unread_message(compat::milliseconds(DYNO_PATIENCE_MS));
}

dyno_status dyno_receiver::take(dyno_on_message on_message, void *user) {
    const dyno_status status = reader_.take(on_message, user);
    if (status != DYNO_NONE || !blocks_) {
        return status;
    }
    reader_.wait();
    return reader_.take(on_message, user);
}

dyno_subscription::dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message,
                                     void *user)
    : on_message_(on_message), user_(user), reader_(node, channel, this) {}

dyno_subscription::~dyno_subscription() {
    // Whoever is inside either came before `closed_` and is waited for, or sees it and leaves. The
    // library's own threads may still hold the listener until the reader is deleted.
    closed_.store(true);
    while (inside_.load() != 0) {
        std::this_thread::yield();
    }
}

void dyno_subscription::on_data_available(edds::DataReader *reader) {
    inside_.fetch_add(1);
    if (!closed_.load()) {
        // Nothing may be thrown into the library. An error ends the messages, which Dyno notices.
        dyno::guarded("on_data_available", [this, reader] {
            while (!closed_.load() && reader_.take_from(*reader, on_message_, user_) == DYNO_OK) {
            }
            return DYNO_OK;
        });
    }
    inside_.fetch_sub(1);
}
