// Writers and readers.
#ifndef DYNO_FASTDDS_ENDS_HPP
#define DYNO_FASTDDS_ENDS_HPP

#include "compat.hpp"
#include "node.hpp"
#include "octets.hpp"

#include <atomic>
#include <memory>
#include <string>

// The topic of a channel and the number of the endpoint on it. Goes after the endpoint.
class Place {
  public:
    Place(dyno_node &node, EntityIds &ids, const dyno_channel &channel);
    ~Place();
    Place(const Place &) = delete;
    Place &operator=(const Place &) = delete;

    dyno_node &node;
    const std::string channel;
    const uint64_t most; // The largest message in bytes.
    edds::Topic *topic;
    const int16_t id;

  private:
    EntityIds &ids_;
};

struct DeleteWriter {
    dyno_node *node;
    void operator()(edds::DataWriter *writer) const { node->publisher->delete_datawriter(writer); }
};
struct DeleteReader {
    dyno_node *node;
    void operator()(edds::DataReader *reader) const { node->subscriber->delete_datareader(reader); }
};

struct dyno_sender {
    dyno_sender(dyno_node &node, const dyno_channel &channel);
    ~dyno_sender();

    uint32_t matched() const;
    dyno_status loan(size_t length, void **buffer);
    dyno_status send(void *buffer, size_t length);

  private:
    template <typename Call> dyno_status until_room(const char *name, Call call);
    void give_back();

    Place place_;
    std::unique_ptr<edds::DataWriter, DeleteWriter> writer_;
    std::unique_ptr<Sequence> sample_; // What `loan` lends where the library cannot lend.
    void *lent_ = nullptr;             // What the library has lent us.
};

// A collection that only ever holds what the library lends.
class Loans final : public edds::LoanableCollection {
  public:
    const void *first() const { return elements_[0]; }

  protected:
    void resize(size_type) override {}
};

// What receivers and subscriptions share.
class Reader {
  public:
    // The listener, if there is one, may be called before the constructor returns.
    Reader(dyno_node &node, const dyno_channel &channel, edds::DataReaderListener *listener);
    ~Reader();

    bool matched() const;
    // Takes one message without waiting and shows it.
    dyno_status take(dyno_on_message on_message, void *user) { return take_from(*reader_, on_message, user); }
    // The same for a listener, which is given the reader.
    dyno_status take_from(edds::DataReader &reader, dyno_on_message on_message, void *user);
    // Sleeps until a message is there, for DYNO_PATIENCE_MS at most.
    void wait();

  private:
    void empty() noexcept;

    Place place_;
    Loans loans_;
    edds::SampleInfoSeq infos_;
    std::unique_ptr<edds::DataReader, DeleteReader> reader_; // Last: its listener uses the others.
};

struct dyno_receiver {
    dyno_receiver(dyno_node &node, const dyno_channel &channel, bool blocks)
        : reader_(node, channel, nullptr), blocks_(blocks) {}
    bool matched() const { return reader_.matched(); }
    dyno_status take(dyno_on_message on_message, void *user);

  private:
    Reader reader_;
    const bool blocks_;
};

struct dyno_subscription final : edds::DataReaderListener {
    dyno_subscription(dyno_node &node, const dyno_channel &channel, dyno_on_message on_message, void *user);
    ~dyno_subscription() override;
    void on_data_available(edds::DataReader *reader) override;
    bool matched() const { return reader_.matched(); }

  private:
    const dyno_on_message on_message_;
    void *const user_;
    std::atomic<bool> closed_{false};
    std::atomic<int> inside_{0};
    Reader reader_; // Last: its listener uses the others.
};

#endif
