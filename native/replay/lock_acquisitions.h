// Reconstructs who had which exclusive lock from when to when, from what was recorded of it.
//
// Recorded are waits for a lock with who ended them, and holds of those that got it while others were queued. Who wakes a
// thread that waits for a lock releases it; so a thread that wakes one outside of its recorded holds had it as well. Since
// when is unknown: as long as other holds of that lock last, and no longer than it was free. Holds that nobody waited
// during are on no record: a thread that got the lock, with nobody queued, and wakes one much later, has had it twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headway {

// Waits for locks, in any order.
struct LockBlocks {
  std::vector<int32_t> lock;  // 0..
  std::vector<int32_t> thread;
  std::vector<int32_t> waker;  // who released it; -1: unknown, or nobody
  std::vector<int32_t> owner;  // who had it as the wait began; -1: unknown
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  std::vector<int64_t> waking_ns;  // negative: not seen
  std::vector<uint8_t> is_repark;  // goes on with the wait of its thread before
  std::vector<uint8_t>
      is_monitor_wait;  // Object.wait: lets go of the monitor at its start, and has it again at its end

  size_t size() const { return lock.size(); }
  bool is_sound() const;
};

struct LockHolds {
  std::vector<int32_t> lock;
  std::vector<int32_t> thread;
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;

  size_t size() const { return lock.size(); }
  bool is_sound() const;
};

struct Acquisition {
  int32_t lock = -1;
  int32_t thread = -1;
  int64_t asked_ns = 0;
  int64_t got_ns = 0;
  int64_t released_ns = 0;
  bool is_whole = true;        // its begin and its end were recorded
  bool knows_got = true;       // its begin was: a wait for the lock ended then
  bool knows_released = true;  // its end was: it woke a thread
  bool is_hold = false;        // it is a recorded hold
};

// Of each lock in order of got_ns, none of which overlap; locks in order. Rows of unknown threads are left out.
std::vector<Acquisition> acquisitions(const LockBlocks& blocks, const LockHolds& holds);

}  // namespace headway
