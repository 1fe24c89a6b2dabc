// Work that makes every event of arithmetic count: cycles, instructions, branches, half of which are mispredicted.
#pragma once

#include <cstdint>

namespace headway {

inline uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

constexpr uint64_t kRandomSeed = 88172645463325252ull;

inline void do_arithmetic(int rounds) {
  uint64_t state = kRandomSeed;
  volatile uint64_t sink = 0;
  for (int i = 0; i < rounds; ++i) {
    if ((next_random(state) & 1) != 0) sink = sink + state;
  }
}

}  // namespace headway
