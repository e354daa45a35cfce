// Base64 (RFC 4648, section 4): bytes as text that protobuf takes for UTF-8.
#ifndef DYNO_KUKSA_BASE64_HPP
#define DYNO_KUKSA_BASE64_HPP

#include <cstddef>
#include <string>

namespace dyno::kuksa {

// Writes the text of `length` bytes into `text`, whose memory it uses again.
void encode(const unsigned char *bytes, size_t length, std::string &text);

// Writes the bytes of `text` to `bytes`, which has room for `room`. Their number, or -1 where it is no such text or too long.
long long decode(const std::string &text, unsigned char *bytes, size_t room);

} // namespace dyno::kuksa
#endif
