// How many accesses it is until the next one that is sampled.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace headway::agent {

// Numbers that look random (xorshift64*), one series for each seed.
class RandomSeries {
 public:
  explicit constexpr RandomSeries(uint64_t seed) noexcept : state_(seed * 0x9E3779B97F4A7C15 | 1) {}
  uint64_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1D;
  }

 private:
  uint64_t state_;
};

// -ln(fraction / 2^64), for fraction > 0. Without the C library's log, of which an older system has another version.
inline double minus_ln(uint64_t fraction) noexcept {
  constexpr double kLn2 = 0.693147180559945309417;
  const int halvings = std::countl_zero(fraction);
  // In [1, 2): ln m = 2 (z + z^3/3 + z^5/5 + ...) with z = (m - 1) / (m + 1) of a third at most.
  const double mantissa = static_cast<double>(fraction << halvings) / 9223372036854775808.0;
  const double z = (mantissa - 1) / (mantissa + 1), square = z * z;
  double sum = 0;
  for (int odd = 21; odd >= 1; odd -= 2) sum = sum * square + 1.0 / odd;
  return kLn2 * (halvings + 1) - 2 * z * sum;
}

// At least 1, `mean` in the mean, so that each access has the same chance of 1 / mean whatever came before it (a geometric
// distribution): a program that repeats itself meets no rhythm of the samples.
inline uint64_t random_gap(RandomSeries& series, uint32_t mean) noexcept {
  if (mean <= 1) return 1;
  const uint64_t fraction = std::max<uint64_t>(series.next(), 1);
  // -ln(1 - 1/mean), to 1/mean^3.
  const double rate = 1.0 / mean + 0.5 / (static_cast<double>(mean) * mean);
  return 1 + static_cast<uint64_t>(minus_ln(fraction) / rate);
}

}  // namespace headway::agent
