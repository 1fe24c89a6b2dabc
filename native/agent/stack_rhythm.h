// Which of a thread's blocks get a stack: all while they are rare, about one in a millisecond where they are frequent.
//
// After each stack the number of blocks to leave out is drawn at random, from 0 to twice the number that comes in a
// millisecond at the present rate. So every block is as likely to be chosen as any other, whatever the pattern they
// come in (a clock would always choose the first after a pause), and the weight of a stack, itself and the blocks since
// the last one, is an unbiased estimate of its site's share. A thread's first block on a blocker has a stack besides,
// of weight 1. All this within a budget: so many at once, and one in a millisecond.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "agent/clock.h"

namespace headway::agent {

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

// Zero-initialised, of one thread.
class StackRhythm {
 public:
  // The weight of the stack to take for this block; 0: none. `id`: what it blocks on.
  uint32_t weight_of_next(uint32_t id) noexcept {
    if (is_first(id)) {
      constexpr uint32_t kLeaveForOthers = 8;
      if (allowed_.take(monotonic_ns(), kLeaveForOthers)) return 1;
    }
    ++since_;
    if (leave_out_ > 0) {
      --leave_out_;
      return 0;
    }
    const int64_t now_ns = monotonic_ns();
    if (!allowed_.take(now_ns)) return 0;
    draw(now_ns);
    const uint32_t weight = since_;
    since_ = 0;
    return weight;
  }

  // What is first seen costs more than a stack: names, records.
  bool may_describe_new() noexcept { return new_allowed_.take(monotonic_ns()); }

  // A blocker that was described just now had its stack.
  void seen(uint32_t id) noexcept { seen_[id % seen_.size()] = id; }

 private:
  static constexpr int64_t kMillisecond = 1'000'000;

  bool is_first(uint32_t id) noexcept {
    uint32_t& place = seen_[id % seen_.size()];
    if (place == id) return false;
    place = id;
    return true;
  }

  void draw(int64_t now_ns) noexcept {
    const int64_t elapsed_ns = std::max<int64_t>(now_ns - last_ns_, 1);
    const uint64_t in_millisecond =
        std::min<uint64_t>(since_ * uint64_t{kMillisecond} / static_cast<uint64_t>(elapsed_ns), 1U << 20);
    last_ns_ = now_ns;
    if (random_ == 0) random_ = static_cast<uint64_t>(now_ns) ^ reinterpret_cast<uintptr_t>(this);
    random_ ^= random_ << 13;  // xorshift
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    leave_out_ = static_cast<uint32_t>((random_ >> 32) * (2 * in_millisecond + 1) >> 32);
    if (in_millisecond == 0) leave_out_ = 0;
  }

  uint32_t since_ = 0;      // blocks since the last one with a stack, this one included
  uint32_t leave_out_ = 0;  // of those that come
  int64_t last_ns_ = 0;
  uint64_t random_ = 0;
  Allowance<32, kMillisecond> allowed_;
  Allowance<256, kMillisecond / 10> new_allowed_;
  std::array<uint32_t, 16> seen_{};
};

}  // namespace headway::agent
