// Decodes the values of a JFR file. Nothing in the file is trusted: past the end, or at a value that can't be, the
// cursor fails once and for all and gives zeros from then on; whoever uses it asks ok() when done.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace headway::jfr {

// A string as it stands in the file: a value, none at all, or the index of a constant.
struct Text {
  enum class Form : uint8_t { null, value, constant };
  Form form = Form::null;
  uint64_t constant = 0;
  std::string value;
};

// A place in the bytes of a JFR file, which moves on as values are read.
class Cursor {
 public:
  Cursor(const uint8_t* begin, const uint8_t* end, bool compressed) : Cursor(begin, end, compressed, end) {}
  // `readable`: up to there is memory, at `end` or behind it. What lies behind the end is never part of a value, but an
  // integer's bytes can be loaded at once.
  Cursor(const uint8_t* begin, const uint8_t* end, bool compressed, const uint8_t* readable)
      : at_(begin), end_(end), readable_(readable), compressed_(compressed) {}

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
  [[gnu::always_inline]] uint64_t integer(unsigned bytes) {
    if (compressed_ && at_ < end_ && *at_ < 0x80) return *at_++;  // most are so small
    return compressed_ ? varint() : fixed(bytes);
  }
  // Passes over so many compressed integers.
  void skip_varints(uint64_t count);
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
    if (static_cast<size_t>(readable_ - at_) < kLongest) return varint_near_end();
    const uint8_t* after = at_;
    const uint64_t value = varint_at(&after);
    return passed(static_cast<size_t>(after - at_), value);
  }
  // The same where memory for the longest is known to be there; `at` moves behind it.
  [[gnu::always_inline]] static uint64_t varint_at(const uint8_t** at) {
    const uint8_t* from = *at;
    if (*from < 0x80) {
      *at = from + 1;
      return *from;
    }
    const uint64_t bytes = eight(from);
    const uint64_t ends = ~bytes & kMore;  // the bytes after which no more come
    if (ends == 0) {
      *at = from + kLongest;
      return packed(bytes) | (static_cast<uint64_t>(from[8]) << 56);
    }
    *at = from + static_cast<unsigned>(std::countr_zero(ends)) / 8 + 1;
    return packed(bytes & (ends ^ (ends - 1)));
  }
  // The bytes of so many compressed integers one after the other, as two numbers; false where they are more than 16, or
  // one of them has nine, or that much memory is not known to be there. Passes over them.
  [[gnu::always_inline]] bool raw_varints(size_t count, std::array<uint64_t, 2>* raw) {
    if (left() < 2 * sizeof(uint64_t)) return false;
    const uint64_t low = eight(at_);
    uint64_t ends = ~low & kMore;
    const uint64_t all = ends;
    size_t missing = count - 1;
    while (missing > 0 && ends != 0) {
      ends &= ends - 1;
      --missing;
    }
    if (ends != 0) {
      *raw = {low & (ends ^ (ends - 1)), 0};
      at_ += static_cast<unsigned>(std::countr_zero(ends)) / 8 + 1;
      return true;
    }
    return raw_longer(low, all, count, raw);
  }
  const uint8_t* readable() const { return readable_; }
  static constexpr size_t kLongest = 9;  // bytes of a varint
  uint64_t fixed(unsigned bytes) {       // big endian
    if (bytes > left()) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value = (value << 8) | *at_++;
    return value;
  }

 private:
  static constexpr uint64_t kMore = 0x8080808080808080ULL;
  static uint64_t eight(const uint8_t* at) {  // little endian
    uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);  // one load, where the compiler makes eight of a loop with shifts
    return std::endian::native == std::endian::little ? bytes : __builtin_bswap64(bytes);
  }
  uint64_t varint_near_end();
  bool raw_longer(uint64_t low, uint64_t ends, size_t count, std::array<uint64_t, 2>* raw);
  // A value of so many bytes, which may turn out to reach beyond the end.
  uint64_t passed(size_t bytes, uint64_t value) {
    if (bytes > left()) {
      fail();
      return 0;
    }
    at_ += bytes;
    return value;
  }
  // Seven bits of each of eight bytes, next to each other.
  static uint64_t packed(uint64_t bytes) {
    bytes &= 0x7f7f7f7f7f7f7f7fULL;
    bytes = (bytes & 0x007f007f007f007fULL) | ((bytes & 0x7f007f007f007f00ULL) >> 1);
    bytes = (bytes & 0x00003fff00003fffULL) | ((bytes & 0x3fff00003fff0000ULL) >> 2);
    return (bytes & 0x000000000fffffffULL) | ((bytes & 0x0fffffff00000000ULL) >> 4);
  }
  const uint8_t* at_;
  const uint8_t* end_;
  const uint8_t* readable_;
  bool compressed_;
  bool ok_ = true;
};

}  // namespace headway::jfr
