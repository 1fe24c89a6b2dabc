// A hash with a random seed, for tables whose keys come from a file: a hostile file can't choose them to collide.
#pragma once

#include <cstdint>

namespace headway::jfr {

// Files are made by others: without a seed, keys could be chosen to collide.
inline uint64_t seeded_hash(uint64_t value) {
  static constexpr char kPlace = 0;  // elsewhere in each process
  const uint64_t seed = reinterpret_cast<uint64_t>(&kPlace) * 0x9e3779b97f4a7c15ULL;
  const uint64_t h = (value ^ seed) * 0xff51afd7ed558ccdULL;
  return h ^ (h >> 32);
}

}  // namespace headway::jfr
