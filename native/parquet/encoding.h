// How Parquet writes numbers in few bytes: https://parquet.apache.org/docs/file-format/data-pages/encodings/
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headway::parquet {

using Bytes = std::vector<uint8_t>;

// Seven bits a byte, low ones first.
void put_varint(uint64_t value, Bytes* out);
inline uint64_t zigzag(int64_t value) {  // small for numbers near 0 of either sign
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
void put_little_endian(uint64_t value, unsigned bytes, Bytes* out);

// DELTA_BINARY_PACKED: differences, each block of 128 as multiples of bits above the least of them.
void put_deltas(std::span<const int32_t> values, Bytes* out);
void put_deltas(std::span<const int64_t> values, Bytes* out);
// The same of one number so many times.
void put_same(int64_t value, size_t count, Bytes* out);

// RLE: a run of one value, or values of `width` bits one after the other, whatever is shorter.
void put_hybrid(std::span<const uint32_t> values, unsigned width, Bytes* out);
void put_run(uint32_t value, size_t count, unsigned width, Bytes* out);

}  // namespace headway::parquet
