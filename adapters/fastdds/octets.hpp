// The two message types, written by hand as the library's own generator would write them for
//
//     struct Sequence { sequence<octet, N> data; };              // variable: what is sent travels
//     struct Array { unsigned long length; octet data[N]; };     // plain: always travels whole
//
// N is the channel's largest message. Both are encoded alike: CDR, a 32-bit length, then the octets.
#ifndef DYNO_FASTDDS_OCTETS_HPP
#define DYNO_FASTDDS_OCTETS_HPP

#include "compat.hpp"

#include <cstdint>
#include <memory>

// A sample of the variable type: octets that the sample owns.
struct Sequence {
    explicit Sequence(uint32_t capacity) : capacity(capacity), data(new uint8_t[capacity]) {}
    uint32_t capacity; // in bytes
    uint32_t length = 0;
    std::unique_ptr<uint8_t[]> data;
};

// The head of a sample of the plain type; N octets follow it.
struct Array {
    uint32_t length;
    uint8_t *data() { return reinterpret_cast<uint8_t *>(this + 1); }
    const uint8_t *data() const { return reinterpret_cast<const uint8_t *>(this + 1); }
};

// What the library asks of both types, whatever its version calls it.
class Octets : public edds::TopicDataType {
  public:
    // `most` is N in bytes.
    Octets(const char *kind, uint32_t most);

#if DYNO_FASTDDS_3
    using Payload = eprosima::fastdds::rtps::SerializedPayload_t;
    using Handle = eprosima::fastdds::rtps::InstanceHandle_t;
    bool serialize(const void *const sample, Payload &payload, edds::DataRepresentationId_t) override {
        return write(sample, payload);
    }
    bool deserialize(Payload &payload, void *sample) override { return read(payload, sample); }
    uint32_t calculate_serialized_size(const void *const sample, edds::DataRepresentationId_t) override {
        return size(sample);
    }
    void *create_data() override { return make(); }
    void delete_data(void *sample) override { unmake(sample); }
    bool compute_key(Payload &, Handle &, bool) override { return false; }
    bool compute_key(const void *const, Handle &, bool) override { return false; }
    bool is_plain(edds::DataRepresentationId_t) const override { return plain(); }
#else
    using Payload = eprosima::fastrtps::rtps::SerializedPayload_t;
    using Handle = eprosima::fastrtps::rtps::InstanceHandle_t;
    bool serialize(void *sample, Payload *payload) override { return write(sample, *payload); }
    bool deserialize(Payload *payload, void *sample) override { return read(*payload, sample); }
    std::function<uint32_t()> getSerializedSizeProvider(void *sample) override {
        return [this, sample] { return size(sample); };
    }
    void *createData() override { return make(); }
    void deleteData(void *sample) override { unmake(sample); }
    bool getKey(void *, Handle *, bool) override { return false; }
    bool is_plain() const override { return plain(); }
#endif
    bool is_bounded() const override { return true; }

  protected:
    virtual bool write(const void *sample, Payload &payload) const = 0;
    virtual bool read(const Payload &payload, void *sample) const = 0;
    virtual uint32_t size(const void *sample) const = 0; // Encoded, in bytes.
    virtual void *make() const = 0;
    virtual void unmake(void *sample) const = 0;
    virtual bool plain() const = 0;

    const uint32_t most_;
};

class SequenceType final : public Octets {
  public:
    explicit SequenceType(uint32_t most) : Octets("sequence", most) {}

  protected:
    bool write(const void *sample, Payload &payload) const override;
    bool read(const Payload &payload, void *sample) const override;
    uint32_t size(const void *sample) const override;
    void *make() const override;
    void unmake(void *sample) const override;
    bool plain() const override { return false; }
};

class ArrayType final : public Octets {
  public:
    explicit ArrayType(uint32_t most) : Octets("array", most) {}
    bool construct_sample(void *memory) const override;

  protected:
    bool write(const void *sample, Payload &payload) const override;
    bool read(const Payload &payload, void *sample) const override;
    uint32_t size(const void *sample) const override;
    void *make() const override;
    void unmake(void *sample) const override;
    bool plain() const override { return true; }
};

#endif
