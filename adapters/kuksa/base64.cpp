#include "base64.hpp"

#include <array>
#include <cstdint>

namespace dyno::kuksa {

namespace {

constexpr char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t NONE = 255;

constexpr std::array<uint8_t, 256> values() {
    std::array<uint8_t, 256> values = {};
    for (auto &value : values) {
        value = NONE;
    }
    for (uint8_t i = 0; i < 64; i++) {
        values[static_cast<unsigned char>(LETTERS[i])] = i;
    }
    return values;
}
constexpr std::array<uint8_t, 256> VALUES = values();

} // namespace

void encode(const unsigned char *bytes, size_t length, std::string &text) {
    text.resize((length + 2) / 3 * 4);
    char *out = text.data();
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const uint32_t three = static_cast<uint32_t>(bytes[i]) << 16 |
                               (left > 1 ? static_cast<uint32_t>(bytes[i + 1]) << 8 : 0) |
                               (left > 2 ? static_cast<uint32_t>(bytes[i + 2]) : 0);
        *out++ = LETTERS[three >> 18];
        *out++ = LETTERS[three >> 12 & 63];
        *out++ = left > 1 ? LETTERS[three >> 6 & 63] : '=';
        *out++ = left > 2 ? LETTERS[three & 63] : '=';
    }
}

long long decode(const std::string &text, unsigned char *bytes, size_t room) {
    const size_t fill = text.empty() || text.back() != '=' ? 0 : text[text.size() - 2] == '=' ? 2 : 1;
    if (text.size() % 4 != 0 || text.size() / 4 * 3 - fill > room) {
        return -1;
    }
    const size_t length = text.size() / 4 * 3 - fill;
    const auto *in = reinterpret_cast<const unsigned char *>(text.data());
    for (size_t i = 0; i < length; i += 3, in += 4) {
        const size_t left = length - i;
        const uint8_t third = left > 1 ? VALUES[in[2]] : 0, fourth = left > 2 ? VALUES[in[3]] : 0;
        if (VALUES[in[0]] == NONE || VALUES[in[1]] == NONE || third == NONE || fourth == NONE) {
            return -1;
        }
        const uint32_t three = static_cast<uint32_t>(VALUES[in[0]]) << 18 | static_cast<uint32_t>(VALUES[in[1]]) << 12 |
                               static_cast<uint32_t>(third) << 6 | fourth;
        bytes[i] = static_cast<unsigned char>(three >> 16);
        if (left > 1) {
            bytes[i + 1] = static_cast<unsigned char>(three >> 8);
        }
        if (left > 2) {
            bytes[i + 2] = static_cast<unsigned char>(three);
        }
    }
    return static_cast<long long>(length);
}

} // namespace dyno::kuksa
