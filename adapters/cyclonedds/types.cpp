#include "types.hpp"

#include <dyno_adapter.hpp>

#include <cstring>

namespace dyno::cyclonedds {

namespace {

// Ascending.
const Type ARRAYS[] = {
    {&dyno_Octets64_desc, 64},
    {&dyno_Octets128_desc, 128},
    {&dyno_Octets256_desc, 256},
    {&dyno_Octets512_desc, 512},
    {&dyno_Octets1024_desc, 1024},
    {&dyno_Octets2048_desc, 2048},
    {&dyno_Octets4096_desc, 4096},
    {&dyno_Octets8192_desc, 8192},
    {&dyno_Octets16384_desc, 16384},
    {&dyno_Octets32768_desc, 32768},
    {&dyno_Octets65536_desc, 65536},
    {&dyno_Octets131072_desc, 131072},
    {&dyno_Octets262144_desc, 262144},
    {&dyno_Octets524288_desc, 524288},
    {&dyno_Octets1048576_desc, 1048576},
    {&dyno_Octets2097152_desc, 2097152},
    {&dyno_Octets4194304_desc, 4194304},
};

} // namespace

Type Type::of(bool arrays, uint64_t largest) {
    if (!arrays) {
        return {&dyno_Octets_desc, 0};
    }
    for (const Type &type : ARRAYS) {
        if (largest <= type.array) {
            return type;
        }
    }
    const std::string needed = std::to_string(largest);
    throw Error(DYNO_BAD_OPTION, "`type = \"array\"` holds at most 4 MiB, this channel needs " + needed +
                                     " bytes; write `type = \"sequence\"`");
}

Sample::Sample(const Type &type, uint64_t largest) : type_(type) {
    if (type.array) {
        array_ = static_cast<uint8_t *>(dds_alloc(type.descriptor->m_size));
    } else {
        sequence_.data._buffer = static_cast<uint8_t *>(dds_alloc(largest));
        sequence_.data._maximum = static_cast<uint32_t>(largest);
        // The library may exchange the buffer for a larger one.
        sequence_.data._release = true;
    }
}

Sample::~Sample() {
    dds_sample_free(memory(), type_.descriptor, array_ ? DDS_FREE_ALL : DDS_FREE_CONTENTS);
}

size_t Sample::length() const {
    if (!array_) {
        return sequence_.data._length;
    }
    uint32_t length;
    std::memcpy(&length, array_ + type_.array, sizeof length);
    if (length > type_.array) {
        throw Error(DYNO_ERROR, "a sample says that " + std::to_string(length) + " bytes of its " +
                                    std::to_string(type_.array) + " are the message");
    }
    return length;
}

void Sample::set_length(size_t length) {
    const auto bytes = static_cast<uint32_t>(length);
    if (array_) {
        std::memcpy(array_ + type_.array, &bytes, sizeof bytes);
    } else {
        sequence_.data._length = bytes;
    }
}

} // namespace dyno::cyclonedds
