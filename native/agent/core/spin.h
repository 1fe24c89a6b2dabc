// Synchronisation for moments, without the JVM: a spin lock that yields, and read sections that whoever frees something
// waits for.
//
// A spin lock is held for some dozens of instructions, never across a JNI call or a system call. Who finds it taken
// soon gives the CPU away, so that a holder that lost its CPU gets one back.
#pragma once

#include <sched.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace headway::agent {

// What to do between two looks at something another thread is about to change.
class Backoff {
 public:
  void pause() noexcept {
    ++looks_;
    if (looks_ <= kSpins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      __asm__ volatile("yield");
#endif
    } else if (looks_ <= kSpins + kYields) {
      sched_yield();
    } else {
      // The holder may have a lower real-time priority: only sleeping lets it run.
      const timespec nap{0, kNapNs};
      nanosleep(&nap, nullptr);
    }
  }

 private:
  static constexpr uint32_t kSpins = 64;
  static constexpr uint32_t kYields = 64;
  static constexpr long kNapNs = 50'000;
  uint32_t looks_ = 0;
};

// A lock for a few instructions, which yields the core when it is taken.
class SpinLock {
 public:
  void lock() noexcept {
    Backoff backoff;
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) backoff.pause();
    }
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// Detects when all threads have left the sections that they were in: what none of those that enter from now on can find
// may then be freed. Entering and leaving is one addition each, on a cache line that few threads share.
class Sections {
 public:
  class Inside {
   public:
    Inside(Sections& sections, uint32_t thread) noexcept : count_(sections.stripes_[thread % kStripes].current()) {
      count_.fetch_add(1);  // sequentially consistent: what is read inside is read after it
    }
    ~Inside() { count_.fetch_sub(1, std::memory_order_release); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    std::atomic<uint32_t>& count_;
  };

  // One thread at a time. Begins to wait for those that are inside now.
  void start_waiting() noexcept { stage_ = 0; }

  // True once all threads that were inside at start_waiting have left. Every counter was seen at zero since then: first
  // those that no newcomer uses (but for one that read the phase long ago), then, after a change of the phase, the
  // rest.
  bool all_left() noexcept {
    for (; stage_ < 2; ++stage_) {
      for (Stripe& stripe : stripes_) {
        if (stripe.other().load(std::memory_order_seq_cst) != 0) return false;
      }
      if (stage_ != 0) continue;
      for (Stripe& stripe : stripes_) stripe.phase.fetch_add(1);
    }
    return true;
  }

 private:
  static constexpr uint32_t kStripes = 32;
  struct alignas(64) Stripe {
    std::array<std::atomic<uint32_t>, 2> inside{};
    std::atomic<uint32_t> phase{0};  // the same in all; here, so that who enters touches one line of the cache
    std::atomic<uint32_t>& current() noexcept { return inside[phase.load() & 1]; }
    std::atomic<uint32_t>& other() noexcept { return inside[(phase.load() & 1) ^ 1]; }
  };
  std::array<Stripe, kStripes> stripes_{};
  int stage_ = 0;
};

}  // namespace headway::agent
