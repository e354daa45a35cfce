// The encoding: OMG DDS-RTPS 2.3, section 10 (a representation header of four bytes: CDR, in the byte
// order of this machine), then the length and the octets as CDR has them.
#include "octets.hpp"

#include <cstring>
#include <new>
#include <string>

namespace {

constexpr uint32_t HEADER = 4; // The representation header, in bytes.
constexpr uint32_t LENGTH = 4; // The 32-bit length before the octets.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr uint8_t REPRESENTATION[HEADER] = {0, 1, 0, 0}; // CDR_LE
#else
constexpr uint8_t REPRESENTATION[HEADER] = {0, 0, 0, 0}; // CDR_BE
#endif

// Writes everything before the octets and returns where they go; NULL where they do not fit.
uint8_t *begin(Octets::Payload &payload, uint32_t length, uint32_t octets) {
    const uint32_t total = HEADER + LENGTH + octets;
    if (payload.max_size < total) {
        return nullptr;
    }
    std::memcpy(payload.data, REPRESENTATION, HEADER);
    std::memcpy(payload.data + HEADER, &length, LENGTH);
    payload.encapsulation = REPRESENTATION[1];
    payload.length = total;
    return payload.data + HEADER + LENGTH;
}

// The length in the message; false where the message is not one of ours.
bool length_of(const Octets::Payload &payload, uint32_t most, uint32_t &length) {
    if (payload.length < HEADER + LENGTH || payload.data[1] != REPRESENTATION[1]) {
        return false;
    }
    std::memcpy(&length, payload.data + HEADER, LENGTH);
    return length <= most && length <= payload.length - HEADER - LENGTH;
}

} // namespace

Octets::Octets(const char *kind, uint32_t most) : most_(most) {
    const std::string name = std::string("dyno::") + kind + "_" + std::to_string(most);
    // A multiple of four, as the library's generator makes it.
    const uint32_t size = (HEADER + LENGTH + most + 3) / 4 * 4;
#if DYNO_FASTDDS_3
    set_name(name);
    max_serialized_type_size = size;
    is_compute_key_provided = false;
#else
    setName(name.c_str());
    m_typeSize = size;
    m_isGetKeyDefined = false;
    // There is no description of the type to announce: both sides know it.
    auto_fill_type_object(false);
    auto_fill_type_information(false);
#endif
}

bool SequenceType::write(const void *sample, Payload &payload) const {
    const auto &from = *static_cast<const Sequence *>(sample);
    uint8_t *to = begin(payload, from.length, from.length);
    if (to == nullptr) {
        return false;
    }
    std::memcpy(to, from.data.get(), from.length);
    return true;
}

bool SequenceType::read(const Payload &payload, void *sample) const {
    auto &to = *static_cast<Sequence *>(sample);
    uint32_t length = 0;
    if (!length_of(payload, to.capacity, length)) {
        return false;
    }
    to.length = length;
    std::memcpy(to.data.get(), payload.data + HEADER + LENGTH, length);
    return true;
}

uint32_t SequenceType::size(const void *sample) const {
    return HEADER + LENGTH + static_cast<const Sequence *>(sample)->length;
}

void *SequenceType::make() const { return new Sequence(most_); }
void SequenceType::unmake(void *sample) const { delete static_cast<Sequence *>(sample); }

bool ArrayType::construct_sample(void *memory) const {
    new (memory) Array{0};
    return true;
}

bool ArrayType::write(const void *sample, Payload &payload) const {
    const auto &from = *static_cast<const Array *>(sample);
    uint8_t *to = begin(payload, from.length, most_);
    if (to == nullptr) {
        return false;
    }
    std::memcpy(to, from.data(), most_);
    return true;
}

bool ArrayType::read(const Payload &payload, void *sample) const {
    auto &to = *static_cast<Array *>(sample);
    if (!length_of(payload, most_, to.length)) {
        return false;
    }
    std::memcpy(to.data(), payload.data + HEADER + LENGTH, to.length);
    return true;
}

uint32_t ArrayType::size(const void *) const { return HEADER + LENGTH + most_; }
void *ArrayType::make() const { return new (::operator new(sizeof(Array) + most_)) Array{0}; }
void ArrayType::unmake(void *sample) const { ::operator delete(sample); }
