#include "agent/core/text.h"

#include <algorithm>
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

// Of a signature's letter; empty: of none.
std::string_view primitive(char type) {
  switch (type) {
    case 'Z':
      return "boolean";
    case 'B':
      return "byte";
    case 'C':
      return "char";
    case 'S':
      return "short";
    case 'I':
      return "int";
    case 'J':
      return "long";
    case 'F':
      return "float";
    case 'D':
      return "double";
    default:
      return {};
  }
}

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

size_t class_name(std::string_view signature, char* out, size_t capacity) noexcept {
  if (signature.size() >= 2 && signature.front() == 'L') signature = signature.substr(1, signature.size() - 2);
  const size_t dot = signature.find('.');
  constexpr std::string_view kLambda = "$$Lambda";
  const size_t lambda = dot == std::string_view::npos ? dot : signature.rfind(kLambda, dot);
  signature = signature.substr(0, lambda == std::string_view::npos ? dot : lambda + kLambda.size());
  const size_t bytes = to_utf8(signature, out, capacity);
  std::replace(out, out + bytes, '/', '.');
  return bytes;
}

size_t type_name(std::string_view signature, char* out, size_t capacity) noexcept {
  const size_t dimensions = std::min(signature.find_first_not_of('['), signature.size());
  const size_t brackets = std::min(2 * dimensions, capacity);
  signature.remove_prefix(dimensions);
  const std::string_view word = signature.size() == 1 ? primitive(signature.front()) : std::string_view();
  size_t bytes = std::min(word.size(), capacity - brackets);
  if (word.empty()) {
    bytes = class_name(signature, out, capacity - brackets);
  } else {
    std::memcpy(out, word.data(), bytes);
  }
  for (size_t i = 0; i < brackets; ++i) out[bytes + i] = i % 2 == 0 ? '[' : ']';
  return bytes + brackets;
}

}  // namespace headway::agent
