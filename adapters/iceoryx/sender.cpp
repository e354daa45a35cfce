#include "sender.hpp"

using dyno::Error;
using iox::popo::AllocationError;

namespace {

using Distributor = iox::popo::PublisherPortData::ChunkDistributorData_t;

iox::popo::PublisherOptions publisher_options(const Settings &settings) {
    iox::popo::PublisherOptions options;
    options.historyCapacity = settings.history;
    options.subscriberTooSlowPolicy = settings.block ? iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER
                                                     : iox::popo::ConsumerTooSlowPolicy::DISCARD_OLDEST_DATA;
    return options;
}

} // namespace

uint32_t Port::subscribers() const {
    const Distributor &distributor = data_->m_chunkSenderData;
    const Distributor::LockGuard_t lock(distributor);
    return static_cast<uint32_t>(distributor.m_queues.size());
}

dyno_sender::dyno_sender(dyno_node &node, const dyno_channel &channel)
    : runtime_(node.runtime), publisher_(service_of(channel), publisher_options(node.settings)) {}

dyno_sender::~dyno_sender() {
    if (lent_) {
        publisher_.release(lent_);
    }
}

uint32_t dyno_sender::matched() { return publisher_.port().subscribers(); }

dyno_status dyno_sender::loan(size_t length, void **buffer) {
    // What was lent and not sent, after an error of the caller's, is lent again.
    if (lent_) {
        publisher_.release(lent_);
        lent_ = nullptr;
    }
    auto chunk = publisher_.loan(static_cast<uint32_t>(length));
    if (!chunk.has_error()) {
        lent_ = *buffer = chunk.value();
        return DYNO_OK;
    }
    switch (chunk.get_error()) {
    case AllocationError::RUNNING_OUT_OF_CHUNKS:
        return DYNO_REFUSED;
    case AllocationError::NO_MEMPOOLS_AVAILABLE:
        throw Error(DYNO_ERROR, "RouDi has no chunks of " + std::to_string(length) +
                                    " B: add a [[segment.mempool]] of that size to its configuration");
    default:
        throw Error(DYNO_ERROR, "the library lends no chunk of " + std::to_string(length) + " B");
    }
}

dyno_status dyno_sender::send(void *buffer, size_t) {
    lent_ = nullptr;
    publisher_.publish(buffer);
    return DYNO_OK;
}
