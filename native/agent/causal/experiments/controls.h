// Control experiments: no line is made faster, and all threads are delayed alike. After which pairs of experiments they
// come is random, but as often as meant in any stretch of a few pairs, so that a short recording has its share of each
// kind. At regular intervals they would fall in step with what the program does periodically, such as collections.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <random>

#include "agent/core/clock.h"

namespace headway::agent::causal {

// Chooses by chance which pairs of experiments are followed by a control.
class Controls {
 public:
  static constexpr unsigned kPairs = 2;  // to one control
  static constexpr unsigned kKinds = 2;

  // Another order in each recording: what goes wrong in one does not go wrong in all that are added up.
  explicit Controls(uint64_t seed = static_cast<uint64_t>(monotonic_ns()) ^ static_cast<uint64_t>(getpid()) << 32)
      : random_(seed) {}

  // A pair has ended: true: a control follows.
  bool is_next() noexcept {
    const uint64_t pair = pairs_++;
    if (pair % kPairs == 0) chosen_ = random_() % kPairs;
    if (pair % kPairs != chosen_) return false;
    kind_ = controls_ % kKinds == 0 ? static_cast<unsigned>(random_() % kKinds) : (kind_ + 1) % kKinds;
    ++controls_;
    return true;
  }

  // Of the control that follows: below kKinds.
  unsigned kind() const noexcept { return kind_; }

 private:
  std::mt19937_64 random_;
  uint64_t pairs_ = 0;
  uint64_t chosen_ = 0;
  uint64_t controls_ = 0;
  unsigned kind_ = 0;
};

}  // namespace headway::agent::causal
