#include "parquet/encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace headway::parquet {
namespace {

constexpr size_t kBlock = 128, kPart = 32, kParts = kBlock / kPart;
constexpr size_t kShortestRun = 16;  // below it, one more run takes more than it spares
constexpr size_t kGroup = 8;         // values that are packed together, so that they end with a byte

// Values of `width` bits, the lowest of the first byte first. Writes up to 8 bytes more than it returns the end of.
template <typename T>
uint8_t* pack(const T* values, size_t count, unsigned width, uint8_t* out) {
  uint64_t pending_bits = 0;
  unsigned bits = 0;
  const auto store = [&] {
    if constexpr (std::endian::native != std::endian::little) pending_bits = __builtin_bswap64(pending_bits);
    std::memcpy(out, &pending_bits, sizeof pending_bits);
  };
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint64_t>(values[i]);
    pending_bits |= value << bits;
    bits += width;
    if (bits >= 64) {
      store();
      out += sizeof pending_bits;
      bits -= 64;
      pending_bits = bits == 0 ? 0 : value >> (width - bits);
    }
  }
  store();
  return out + (bits + 7) / 8;
}

void put_head(size_t count, int64_t first, Bytes* out) {
  put_varint(kBlock, out);
  put_varint(kParts, out);
  put_varint(count, out);
  put_varint(zigzag(first), out);
}

// Differences go round, as those of the format do.
template <typename Unsigned>
void put_block(std::array<Unsigned, kBlock>* deltas, size_t count, Bytes* out) {
  using Signed = std::make_signed_t<Unsigned>;
  auto least = static_cast<Signed>((*deltas)[0]);
  for (size_t i = 1; i < count; ++i) least = std::min(least, static_cast<Signed>((*deltas)[i]));
  for (size_t i = 0; i < count; ++i) (*deltas)[i] -= static_cast<Unsigned>(least);
  std::fill(deltas->begin() + static_cast<std::ptrdiff_t>(count), deltas->end(), Unsigned{0});
  put_varint(zigzag(least), out);
  std::array<unsigned, kParts> widths{};
  for (size_t part = 0; part < kParts; ++part) {
    Unsigned all = 0;
    for (size_t i = 0; i < kPart; ++i) all |= (*deltas)[part * kPart + i];
    widths[part] = static_cast<unsigned>(std::bit_width(all));
    out->push_back(static_cast<uint8_t>(widths[part]));
  }
  const size_t before = out->size();
  out->resize(before + kBlock * sizeof(Unsigned) + sizeof(uint64_t));
  uint8_t* at = out->data() + before;
  for (size_t part = 0; part * kPart < count; ++part) {
    at = pack(deltas->data() + part * kPart, kPart, widths[part], at);
  }
  out->resize(static_cast<size_t>(at - out->data()));
}

template <typename T>
void put_all_deltas(std::span<const T> values, Bytes* out) {
  using Unsigned = std::make_unsigned_t<T>;
  put_head(values.size(), values.empty() ? 0 : values[0], out);
  std::array<Unsigned, kBlock> deltas;
  for (size_t begin = 1; begin < values.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, values.size() - begin);
    const T* at = values.data() + begin;
    for (size_t i = 0; i < count; ++i) {
      deltas[i] = static_cast<Unsigned>(static_cast<Unsigned>(at[i]) - static_cast<Unsigned>(*(at + i - 1)));
    }
    put_block(&deltas, count, out);
  }
}

void put_packed(std::span<const uint32_t> values, unsigned width, Bytes* out) {
  if (values.empty()) return;
  const size_t groups = (values.size() + kGroup - 1) / kGroup;
  put_varint((groups << 1) | 1, out);
  const size_t before = out->size();
  out->resize(before + groups * width + 2 * sizeof(uint64_t));
  pack(values.data(), values.size(), width, out->data() + before);
  out->resize(before + groups * width);  // what is missing of the last group is zeros
}

}  // namespace

void put_varint(uint64_t value, Bytes* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<uint8_t>(value | 0x80));
  out->push_back(static_cast<uint8_t>(value));
}

void put_little_endian(uint64_t value, unsigned bytes, Bytes* out) {
  for (unsigned i = 0; i < bytes; ++i) out->push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void put_deltas(std::span<const int32_t> values, Bytes* out) { put_all_deltas(values, out); }
void put_deltas(std::span<const int64_t> values, Bytes* out) { put_all_deltas(values, out); }

void put_same(int64_t value, size_t count, Bytes* out) {
  put_head(count, count == 0 ? 0 : value, out);
  for (size_t begin = 1; begin < count; begin += kBlock) out->insert(out->end(), 1 + kParts, 0);
}

void put_run(uint32_t value, size_t count, unsigned width, Bytes* out) {
  if (count == 0) return;
  put_varint(count << 1, out);
  put_little_endian(value, (width + 7) / 8, out);
}

void put_hybrid(std::span<const uint32_t> values, unsigned width, Bytes* out) {
  size_t packed_from = 0, at = 0;
  while (at < values.size()) {
    size_t end = at + 1;
    while (end < values.size() && values[end] == values[at]) ++end;
    if (end - at < kShortestRun) {
      at = std::min(at + kGroup, values.size());
      continue;
    }
    put_packed(values.subspan(packed_from, at - packed_from), width, out);
    put_run(values[at], end - at, width, out);
    packed_from = at = end;
  }
  put_packed(values.subspan(packed_from), width, out);
}

}  // namespace headway::parquet
