// Decodes the values of a JFR file. Nothing in the file is trusted: past the end, or at a value that can't be, the
// cursor fails once and for all and gives zeros from then on; whoever uses it asks ok() when done.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace headway::jfr {

// A string as it stands in the file: a value, none at all, or the index of a constant.
struct Text {
  enum class Form : uint8_t { null, value, constant };
  Form form = Form::null;
  uint64_t constant = 0;
  std::string value;
};

class Cursor {
 public:
  Cursor(const uint8_t* begin, const uint8_t* end, bool compressed) : at_(begin), end_(end), compressed_(compressed) {}

  bool ok() const { return ok_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const uint8_t* at() const { return at_; }
  bool compressed() const { return compressed_; }
  void fail() {
    ok_ = false;
    at_ = end_;
  }

  uint8_t byte() {
    if (at_ == end_) {
      fail();
      return 0;
    }
    return *at_++;
  }
  // An integer of so many bytes where integers are not compressed (bit 0 of the chunk's features).
  uint64_t integer(unsigned bytes) { return compressed_ ? varint() : fixed(bytes); }
  float real4() { return std::bit_cast<float>(static_cast<uint32_t>(fixed(4))); }
  double real8() { return std::bit_cast<double>(fixed(8)); }
  void skip(uint64_t bytes) {
    if (bytes > left()) {
      fail();
    } else {
      at_ += bytes;
    }
  }
  // A count of things that take at least one byte each: more than there are bytes can't be.
  size_t count() {
    const uint64_t n = integer(4);
    if (n > left()) fail();
    return ok_ ? static_cast<size_t>(n) : 0;
  }
  void skip_text();
  void text(Text* out);

  // Seven bits a byte, low ones first; a ninth byte has eight.
  uint64_t varint() {
    const bool is_near_end = left() < kLongest;
    uint64_t value = 0;
    const uint8_t* at = at_;
    for (unsigned shift = 0; shift < 56; shift += 7) {
      if (is_near_end && at == end_) break;
      const uint8_t b = *at++;
      value |= static_cast<uint64_t>(b & 0x7fU) << shift;
      if (b < 0x80) {
        at_ = at;
        return value;
      }
    }
    if (is_near_end && at == end_) {
      fail();
      return 0;
    }
    at_ = at + 1;
    return value | (static_cast<uint64_t>(*at) << 56);
  }
  uint64_t fixed(unsigned bytes) {  // big endian
    if (bytes > left()) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value = (value << 8) | *at_++;
    return value;
  }

 private:
  static constexpr size_t kLongest = 9;  // bytes of a varint
  const uint8_t* at_;
  const uint8_t* end_;
  bool compressed_;
  bool ok_ = true;
};

}  // namespace headway::jfr
