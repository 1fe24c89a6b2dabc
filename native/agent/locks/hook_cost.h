// What the lock hooks cost: CPU time of the program's threads in them, by each thread's own clock.
//
// Reading a thread's CPU clock is a system call, dearer than most hooks: so one call in kEvery is timed, chosen at
// random, and stands for kEvery. What the clock itself takes is measured once and taken off. The few instructions by
// which Java code gets into a hook are not in it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "agent/core/clock.h"

namespace headway::agent {

// The sum over all threads of the CPU time that hooks took, estimated from one call in kEvery.
class HookCost {
 public:
  static constexpr uint32_t kEvery = 64;

  // Times the stay in a hook, if it is this one's turn.
  class Call {
   public:
    Call() noexcept : began_ns_(is_due() ? thread_cpu_ns() : kNotTimed) {}
    ~Call() {
      if (began_ns_ != kNotTimed) add(thread_cpu_ns() - began_ns_);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    static constexpr int64_t kNotTimed = -1;
    int64_t began_ns_;
  };

  // Begins anew, for another recording.
  static void start() noexcept {
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < kTries; ++i) {
      const int64_t began_ns = thread_cpu_ns();
      least_ns = std::min(least_ns, thread_cpu_ns() - began_ns);
    }
    clock_ns_.store(least_ns, std::memory_order_relaxed);
    total_ns_.store(0, std::memory_order_relaxed);
    timed_.store(0, std::memory_order_relaxed);
  }

  static uint64_t total_ns() noexcept { return total_ns_.load(std::memory_order_relaxed); }
  static uint64_t timed() noexcept { return timed_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kTries = 32;

  static bool is_due() noexcept {
    // xorshift32; each thread begins elsewhere: those with a few calls only are as likely to be timed as any
    static constinit thread_local uint32_t state = 0;
    if (state == 0) state = hash(seeds_.fetch_add(1, std::memory_order_relaxed)) | 1U;
    state ^= state << 13U;
    state ^= state >> 17U;
    state ^= state << 5U;
    return state % kEvery == 0;
  }

  static uint32_t hash(uint32_t value) noexcept {  // murmur3's last step
    value = (value ^ (value >> 16U)) * 0x85ebca6bU;
    value = (value ^ (value >> 13U)) * 0xc2b2ae35U;
    return value ^ (value >> 16U);
  }

  static void add(int64_t ns) noexcept {
    const int64_t own_ns = std::max<int64_t>(ns - clock_ns_.load(std::memory_order_relaxed), 0);
    total_ns_.fetch_add(static_cast<uint64_t>(own_ns) * kEvery, std::memory_order_relaxed);
    timed_.fetch_add(1, std::memory_order_relaxed);
  }

  static inline std::atomic<uint32_t> seeds_{1};
  static inline std::atomic<int64_t> clock_ns_{0};
  static inline std::atomic<uint64_t> total_ns_{0};
  static inline std::atomic<uint64_t> timed_{0};
};

}  // namespace headway::agent
