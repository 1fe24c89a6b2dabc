// Which of a thread's blocks get a stack: all while they are rare, about one in a millisecond where they are frequent.
//
// After each stack the number of blocks to leave out is drawn at random, from 0 to twice the number that comes in a
// millisecond at the present rate. So every block is as likely to be chosen as any other, whatever the pattern they
// come in (a clock would always choose the first after a pause), and the weight of a stack, itself and the blocks since
// the last one, is an unbiased estimate of its site's share. A thread's first block on a blocker has a stack besides,
// of weight 1. All this within a budget: so many at once, and one in a millisecond.
//
// All threads together have a budget, too: a stack takes two to thirty microseconds, and a server has hundreds of
// threads that block thousands of times a second. A thread that finds it used up takes its next stacks at longer
// distances.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "agent/core/clock.h"

namespace headway::agent {

// For all threads: the first so many, later one for each interval that went by. Of those that nobody took only a few
// are kept: else a server that was idle for a minute would take thousands in the second in which requests come.
class SharedAllowance {
 public:
  constexpr SharedAllowance(int64_t first, int64_t kept, int64_t interval_ns) noexcept
      : interval_ns_(interval_ns), most_ns_(kept * interval_ns), first_(first) {}

  bool take(int64_t now_ns) noexcept {
    if (first_.load(std::memory_order_relaxed) > 0 && first_.fetch_sub(1, std::memory_order_relaxed) > 0) return true;
    int64_t used_until = used_until_ns_.load(std::memory_order_relaxed);
    for (;;) {
      const int64_t next = std::max(used_until, now_ns - most_ns_) + interval_ns_;
      if (next > now_ns) return false;
      if (used_until_ns_.compare_exchange_weak(used_until, next, std::memory_order_relaxed)) return true;
    }
  }

 private:
  const int64_t interval_ns_;
  const int64_t most_ns_;
  std::atomic<int64_t> first_;             // so many are left of them; less than 0: none
  std::atomic<int64_t> used_until_ns_{0};  // 0 is long ago: begins full
};

// So many at once, later one for each interval that went by.
template <uint32_t kMost, int64_t kIntervalNs>
class Allowance {
 public:
  bool take(int64_t now_ns, uint32_t leave = 0) noexcept {
    if (const int64_t earned = (now_ns - since_ns_) / kIntervalNs; earned > 0) {
      left_ = static_cast<uint32_t>(std::min<int64_t>(kMost, left_ + earned));
      since_ns_ = now_ns;
    }
    if (left_ <= leave) return false;
    --left_;
    return true;
  }

 private:
  uint32_t left_ = 0;
  int64_t since_ns_ = 0;  // 0 is long ago: begins full
};

// Of one thread. One line of the cache: a thread that parks finds nothing there any more when it parks next.
class alignas(64) StackRhythm {
 public:
  // The weight of the stack to take for this block; 0: none. `id`: what it blocks on. `first`: for first blocks on it.
  uint32_t weight_of_next(uint32_t id, SharedAllowance& shared, SharedAllowance& first, int64_t now_ns) noexcept {
    if (is_first(id)) {
      constexpr uint32_t kLeaveForOthers = 8;
      if (pace_ns_ == kMillisecond && allowed_.take(now_ns, kLeaveForOthers) && first.take(now_ns)) return 1;
    }
    ++since_;
    if (leave_out_ > 0) {
      --leave_out_;
      return 0;
    }
    if (!allowed_.take(now_ns)) return 0;
    if (!shared.take(now_ns)) {
      pace_ns_ = std::min(2 * pace_ns_, kSlowest);
      draw(now_ns);
      return 0;
    }
    pace_ns_ = std::max(pace_ns_ - pace_ns_ / 8, kMillisecond);
    draw(now_ns);
    const uint32_t weight = since_;
    since_ = 0;
    drawn_at_ = 0;
    return weight;
  }

  // A blocker that was described just now had its stack.
  void seen(uint32_t id) noexcept { seen_[id % seen_.size()] = tag(id); }

 private:
  static constexpr uint32_t kMillisecond = 1'000'000;
  static constexpr uint32_t kSlowest = 1'000'000'000;

  // What tells an id from the others of its place; ids so far from each other that it is the same are taken for one.
  static uint16_t tag(uint32_t id) noexcept { return static_cast<uint16_t>(id / 8 + 1); }
  bool is_first(uint32_t id) noexcept {
    uint16_t& place = seen_[id % seen_.size()];
    if (place == tag(id)) return false;
    place = tag(id);
    return true;
  }

  void draw(int64_t now_ns) noexcept {
    const int64_t elapsed_ns = std::max<int64_t>(now_ns - last_ns_, 1);
    const uint64_t in_pace =
        std::min<uint64_t>((since_ - drawn_at_) * uint64_t{pace_ns_} / static_cast<uint64_t>(elapsed_ns), 1U << 20);
    last_ns_ = now_ns;
    drawn_at_ = since_;
    if (random_ == 0) random_ = static_cast<uint64_t>(now_ns) ^ reinterpret_cast<uintptr_t>(this);
    random_ ^= random_ << 13;  // xorshift
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    leave_out_ = static_cast<uint32_t>((random_ >> 32) * (2 * in_pace + 1) >> 32);
    if (in_pace == 0) leave_out_ = 0;
  }

  uint32_t since_ = 0;      // blocks since the last one with a stack, this one included
  uint32_t drawn_at_ = 0;   // of them, those before leave_out_ was drawn last
  uint32_t leave_out_ = 0;  // of those that come
  uint32_t pace_ns_ = kMillisecond;
  int64_t last_ns_ = 0;  // when it was drawn
  uint64_t random_ = 0;
  Allowance<32, kMillisecond> allowed_;
  std::array<uint16_t, 8> seen_{};
};
static_assert(sizeof(StackRhythm) == 64);

}  // namespace headway::agent
