// How likely it is that the JVM samples an object of so many bytes.
#pragma once

#include <cstdint>

namespace headway::agent {

// The JVM draws the bytes until its next sample from an exponential distribution with the interval as its mean, so that
// an object of `bytes` is sampled with 1 - exp(-bytes / interval). Without the C library's exp, of which an older system
// has another version. 1 where each object is told.
inline double sampling_chance(uint64_t bytes, uint64_t interval) noexcept {
  if (interval == 0) return 1;
  double x = static_cast<double>(bytes) / static_cast<double>(interval);
  if (x > 40) return 1;
  int halvings = 0;
  while (x > 1.0 / 64) {
    x /= 2;
    ++halvings;
  }
  // x - x^2/2 + x^3/6 - ..., right to the last digits for so small an x.
  double chance = 0;
  for (int term = 7; term >= 1; --term) chance = x / term * (1 - chance);
  // 1 - exp(-2x) = p (2 - p), for p = 1 - exp(-x).
  for (; halvings > 0; --halvings) chance *= 2 - chance;
  return chance;
}

}  // namespace headway::agent
