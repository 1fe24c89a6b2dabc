// Numbers as Parquet packs them, against decoders written from the format's description.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "parquet/encoding.h"

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

namespace headway::parquet {
namespace {

struct In {
  const Bytes& bytes;
  size_t at = 0;
  uint64_t byte() {
    CHECK(at < bytes.size());
    return bytes[at++];
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint64_t each = byte();
      value |= (each & 0x7f) << shift;
      if (each < 0x80) return value;
    }
  }
  uint64_t unzigzag() {
    const uint64_t value = varint();
    return (value >> 1) ^ (0 - (value & 1));
  }
  // One bit at a time.
  std::vector<uint64_t> packed(size_t count, uint64_t width) {
    std::vector<uint64_t> values(count);
    for (size_t bit = 0; bit < count * width; ++bit) {
      CHECK(at + bit / 8 < bytes.size());
      if ((bytes[at + bit / 8] >> (bit % 8)) & 1) values[bit / width] |= uint64_t{1} << (bit % width);
    }
    at += (count * width + 7) / 8;
    return values;
  }
};

template <typename T>
std::vector<T> undelta(const Bytes& bytes) {
  In in{bytes};
  const uint64_t block = in.varint(), parts = in.varint(), count = in.varint();
  CHECK(block % 128 == 0 && block / parts % 32 == 0);
  uint64_t last = in.unzigzag();
  std::vector<T> values;
  if (count > 0) values.push_back(static_cast<T>(last));
  while (values.size() < count) {
    const uint64_t least = in.unzigzag();
    std::vector<uint64_t> widths;
    for (uint64_t part = 0; part < parts; ++part) widths.push_back(in.byte());
    for (const uint64_t width : widths) {
      if (values.size() == count) break;  // parts behind the last value have no bytes
      for (const uint64_t each : in.packed(block / parts, width)) {
        last += least + each;
        if (values.size() < count) values.push_back(static_cast<T>(last));
      }
    }
  }
  CHECK(in.at == bytes.size());
  return values;
}

std::vector<uint32_t> unhybrid(const Bytes& bytes, unsigned width, size_t count) {
  In in{bytes};
  std::vector<uint32_t> values;
  while (values.size() < count) {
    const uint64_t head = in.varint();
    if ((head & 1) == 0) {
      uint64_t value = 0;
      for (unsigned i = 0; i < (width + 7) / 8; ++i) value |= in.byte() << (8 * i);
      values.insert(values.end(), head >> 1, static_cast<uint32_t>(value));
    } else {
      for (const uint64_t each : in.packed((head >> 1) * 8, width)) values.push_back(static_cast<uint32_t>(each));
    }
  }
  CHECK(in.at == bytes.size() && values.size() - count < 8);  // only the last group may have more
  values.resize(count);
  return values;
}

template <typename T>
void differences_come_back_whatever_their_width() {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<T> values(random() % 400);
    const unsigned shift = static_cast<unsigned>(random() % (8 * sizeof(T)));
    for (T& each : values) {
      each = static_cast<T>(static_cast<T>(random()) >> shift);
      if (random() % 64 == 0) each = random() % 2 == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    }
    Bytes bytes;
    put_deltas(std::span<const T>(values), &bytes);
    CHECK(undelta<T>(bytes) == values);
  }
}

void one_number_many_times_comes_back() {
  for (const int64_t value : {int64_t{0}, int64_t{-7}, INT64_MIN, INT64_MAX}) {
    for (const size_t count : {0, 1, 2, 128, 129, 130, 1000}) {
      Bytes bytes;
      put_same(value, count, &bytes);
      CHECK(undelta<int64_t>(bytes) == std::vector<int64_t>(count, value));
    }
  }
}

void runs_and_packed_values_come_back() {
  std::mt19937_64 random(2);
  for (int round = 0; round < 5000; ++round) {
    const auto width = static_cast<unsigned>(1 + random() % 32);
    const uint32_t most = width == 32 ? ~uint32_t{0} : (uint32_t{1} << width) - 1;
    std::vector<uint32_t> values;
    while (values.size() < random() % 300) {
      const uint32_t value = static_cast<uint32_t>(random()) & most;
      values.insert(values.end(), random() % 4 == 0 ? random() % 40 : 1, value);
    }
    Bytes bytes;
    put_hybrid(values, width, &bytes);
    CHECK(unhybrid(bytes, width, values.size()) == values);
  }
}

void a_run_takes_a_few_bytes() {
  Bytes bytes;
  put_hybrid(std::vector<uint32_t>(100000, 5), 3, &bytes);
  CHECK(bytes.size() <= 5);
}

}  // namespace
}  // namespace headway::parquet

int main() {
  headway::parquet::differences_come_back_whatever_their_width<int32_t>();
  headway::parquet::differences_come_back_whatever_their_width<int64_t>();
  headway::parquet::one_number_many_times_comes_back();
  headway::parquet::runs_and_packed_values_come_back();
  headway::parquet::a_run_takes_a_few_bytes();
  return 0;
}
