// The part of an experiment in which at least one thread slept in the line that is made faster. Where several sleep in it
// at the same time, each would wake earlier, but all of them at once: that time can be saved only once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace headway::agent::causal {

// A ring of short slots of time, in each of which somebody has slept or nobody. No locks, no memory: for signal
// handlers.
class BlockedTime {
 public:
  static constexpr int64_t kSlotNs = 100'000;
  static constexpr int64_t kSlots = 8192;

  struct Part {
    int64_t own_ns;  // of the sleep, since the experiment began
    int64_t new_ns;  // of that, what no other thread has reported
  };

  // A thread slept from `from_ns` to `to_ns`, both since the experiment began; what was before that does not count.
  // All that is ever new in an experiment is less than its length.
  Part add(uint32_t experiment, int64_t from_ns, int64_t to_ns) noexcept {
    from_ns = std::max<int64_t>(from_ns, 0);
    if (to_ns <= from_ns) return {0, 0};
    const int64_t own_ns = to_ns - from_ns;
    const int64_t first = from_ns / kSlotNs;
    const int64_t end = to_ns / kSlotNs;
    // Of what the ring has forgotten, only what nobody can have reported.
    const int64_t begin = std::max(first, end - kSlots);
    int64_t found = std::max<int64_t>(begin - std::max(first, last_told(experiment)), 0);
    for (int64_t slot = begin; slot < end; ++slot) {
      const uint64_t stamp = stamp_of(experiment, slot + 1);
      std::atomic<uint64_t>& place = slots_[static_cast<size_t>(slot % kSlots)];
      if (place.exchange(stamp, std::memory_order_relaxed) != stamp) ++found;
    }
    tell(experiment, end);
    const int64_t new_ns = std::min(found * kSlotNs, own_ns);
    // Who slept alone causes what it is excused of.
    return {found == end - first ? new_ns : own_ns, new_ns};
  }

 private:
  static uint64_t stamp_of(uint32_t experiment, int64_t slot) noexcept {
    return uint64_t{experiment} << 32 | static_cast<uint32_t>(slot);
  }

  int64_t last_told(uint32_t experiment) const noexcept {
    const uint64_t last = last_.load(std::memory_order_relaxed);
    return last >> 32 == experiment ? static_cast<uint32_t>(last) : 0;
  }

  void tell(uint32_t experiment, int64_t end) noexcept {
    const uint64_t stamp = stamp_of(experiment, end);
    uint64_t last = last_.load(std::memory_order_relaxed);
    while (last < stamp && !last_.compare_exchange_weak(last, stamp, std::memory_order_relaxed)) {
    }
  }

  std::array<std::atomic<uint64_t>, kSlots> slots_{};
  std::atomic<uint64_t> last_{0};
};

}  // namespace headway::agent::causal
