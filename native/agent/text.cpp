#include "agent/text.h"

#include <cstdint>
#include <cstring>

namespace headway::agent {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

struct Decoded {
  uint32_t code;
  size_t bytes;
};

bool is_continuation(unsigned char c) { return (c & 0xC0) == 0x80; }

// One unit of modified UTF-8 at `p`: a character, or a surrogate.
Decoded decode_unit(const unsigned char* p, size_t left) {
  if (p[0] < 0x80) return {p[0], 1};
  if ((p[0] & 0xE0) == 0xC0 && left >= 2 && is_continuation(p[1])) {
    return {static_cast<uint32_t>((p[0] & 0x1F) << 6 | (p[1] & 0x3F)), 2};
  }
  if ((p[0] & 0xF0) == 0xE0 && left >= 3 && is_continuation(p[1]) && is_continuation(p[2])) {
    return {static_cast<uint32_t>((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F)), 3};
  }
  return {kReplacement, 1};
}

size_t encode(uint32_t code, char* out) {
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<char>(0xC0 | code >> 6);
    out[1] = static_cast<char>(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<char>(0xE0 | code >> 12);
    out[1] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out[2] = static_cast<char>(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | code >> 18);
  out[1] = static_cast<char>(0x80 | (code >> 12 & 0x3F));
  out[2] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
  out[3] = static_cast<char>(0x80 | (code & 0x3F));
  return 4;
}

bool is_high(uint32_t code) { return code >= 0xD800 && code < 0xDC00; }
bool is_low(uint32_t code) { return code >= 0xDC00 && code < 0xE000; }

}  // namespace

size_t to_utf8(std::string_view text, char* out, size_t capacity) noexcept {
  const auto* in = reinterpret_cast<const unsigned char*>(text.data());
  size_t written = 0;
  for (size_t i = 0; i < text.size();) {
    Decoded unit = decode_unit(in + i, text.size() - i);
    i += unit.bytes;
    if (is_high(unit.code) && i < text.size()) {
      const Decoded low = decode_unit(in + i, text.size() - i);
      if (is_low(low.code)) {
        unit.code = 0x10000 + ((unit.code - 0xD800) << 10) + (low.code - 0xDC00);
        i += low.bytes;
      }
    }
    if (is_high(unit.code) || is_low(unit.code)) unit.code = kReplacement;
    char encoded[4];
    const size_t bytes = encode(unit.code, encoded);
    if (written + bytes > capacity) break;
    std::memcpy(out + written, encoded, bytes);
    written += bytes;
  }
  return written;
}

}  // namespace headway::agent
