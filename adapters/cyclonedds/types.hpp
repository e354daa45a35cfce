// The DDS types of octets.idl, and the memory of one sample of such a type.
#ifndef DYNO_CYCLONEDDS_TYPES_HPP
#define DYNO_CYCLONEDDS_TYPES_HPP

#include "octets.h"

#include <dds/dds.h>

#include <cstddef>
#include <cstdint>

namespace dyno::cyclonedds {

// One of the types of octets.idl.
struct Type {
    const dds_topic_descriptor_t *descriptor;
    // Bytes of the array; 0: the sequence.
    uint32_t array;

    // The type for messages of at most `largest` bytes: the sequence, or with `arrays` the smallest
    // array that holds them. Throws Error where no array does.
    static Type of(bool arrays, uint64_t largest);
};

// A sample that is used for one message after the other: what the library serialises from and
// deserialises into. It neither grows nor shrinks.
class Sample {
  public:
    Sample(const Type &type, uint64_t largest);
    ~Sample();
    Sample(const Sample &) = delete;
    Sample &operator=(const Sample &) = delete;

    // What dds_write and dds_take are given.
    void *memory() { return array_ ? array_ : static_cast<void *>(&sequence_); }
    uint8_t *bytes() { return array_ ? array_ : sequence_.data._buffer; }
    // The length of the message in bytes; DYNO_ERROR is thrown where the array cannot hold it.
    size_t length() const;
    // At most `largest`.
    void set_length(size_t length);

  private:
    Type type_;
    // Array, then its length; NULL: the sequence is used.
    uint8_t *array_ = nullptr;
    dyno_Octets sequence_ = {};
};

} // namespace dyno::cyclonedds
#endif
