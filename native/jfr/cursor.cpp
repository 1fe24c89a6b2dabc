#include "jfr/cursor.h"

#include <algorithm>

namespace headway::jfr {
namespace {

enum : uint8_t { kNull = 0, kEmpty = 1, kConstant = 2, kUtf8 = 3, kChars = 4, kLatin1 = 5 };

void append_utf8(uint32_t code, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// UTF-16 units; half a pair stays what it is, and Python shows its bytes.
void chars(Cursor* in, size_t count, std::string* out) {
  uint32_t high = 0;
  for (size_t i = 0; i < count && in->ok(); ++i) {
    const auto unit = static_cast<uint32_t>(in->integer(2) & 0xffff);
    if (high != 0 && unit >= 0xdc00 && unit < 0xe000) {
      append_utf8(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), out);
      high = 0;
      continue;
    }
    if (high != 0) append_utf8(high, out);
    high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
    if (high == 0) append_utf8(unit, out);
  }
  if (high != 0) append_utf8(high, out);
}

}  // namespace

uint64_t Cursor::varint_near_end() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 56; shift += 7) {
    if (at_ == end_) {
      fail();
      return 0;
    }
    const uint8_t b = *at_++;
    value |= static_cast<uint64_t>(b & 0x7fU) << shift;
    if (b < 0x80) return value;
  }
  if (at_ == end_) {
    fail();
    return 0;
  }
  return value | (static_cast<uint64_t>(*at_++) << 56);
}

bool Cursor::raw_longer(uint64_t low, uint64_t ends, size_t count, std::array<uint64_t, 2>* raw) {
  const uint64_t high = eight(at_ + sizeof low);
  uint64_t more = ~high & kMore;
  if (ends == 0 || more == 0) return false;
  // Bytes between the last end in the first eight and the first in the next: a ninth of one integer ends it, whatever
  // it is.
  if (static_cast<size_t>(std::countl_zero(ends) + std::countr_zero(more)) / 8 >= kLongest - 1) return false;
  for (; ends != 0; ends &= ends - 1) --count;
  for (; count > 1 && more != 0; --count) more &= more - 1;
  if (more == 0) return false;
  *raw = {low, high & (more ^ (more - 1))};
  at_ += sizeof low + static_cast<unsigned>(std::countr_zero(more)) / 8 + 1;
  return true;
}

// Eight bytes at a time: in each block there are as many integers as bytes without the bit that says that more come.
void Cursor::skip_varints(uint64_t count) {
  const uint8_t* at = at_;
  while (count > 0 && static_cast<size_t>(end_ - at) >= kLongest) {
    uint64_t ends = ~eight(at) & kMore;
    if (ends == 0) {
      at += kLongest;
      --count;
      continue;
    }
    const uint64_t here = ((ends >> 7) * 0x0101010101010101ULL) >> 56;  // how many; not every x86 counts bits
    for (uint64_t beyond = count; beyond < here; ++beyond) ends ^= std::bit_floor(ends);
    at += std::bit_width(ends) / 8;
    count -= std::min(count, here);
  }
  at_ = at;
  for (; count > 0 && ok_; --count) varint_near_end();
}

void Cursor::skip_text() {
  switch (byte()) {
    case kNull:
    case kEmpty:
      return;
    case kConstant:
      integer(8);
      return;
    case kUtf8:
    case kLatin1:
      skip(integer(4));
      return;
    case kChars: {
      const size_t n = count();
      for (size_t i = 0; i < n && ok_; ++i) integer(2);
      return;
    }
    default:
      fail();
  }
}

void Cursor::text(Text* out) {
  out->value.clear();
  out->form = Text::Form::value;
  const uint8_t encoding = byte();
  if (encoding == kNull) out->form = Text::Form::null;
  if (encoding == kConstant) {
    out->form = Text::Form::constant;
    out->constant = integer(8);
  }
  if (encoding <= kConstant) return;
  const size_t n = count();
  if (encoding == kUtf8) {
    out->value.assign(reinterpret_cast<const char*>(at_), n);
    skip(n);
  } else if (encoding == kLatin1) {
    for (size_t i = 0; i < n; ++i) append_utf8(at_[i], &out->value);
    skip(n);
  } else if (encoding == kChars) {
    chars(this, n, &out->value);
  } else {
    fail();
  }
}

}  // namespace headway::jfr
