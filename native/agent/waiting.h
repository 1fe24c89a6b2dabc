// Waits in progress by Java thread, and contended holds by Java thread: striped tables that grow, entries that stay
// where they are. A thread may have some waits within one another; the newest is found first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "agent/arena.h"
#include "agent/spin.h"
#include "wire/records.h"

namespace headway::agent {

// What is kept about a wait from its begin to its end.
struct Wait {
  uint32_t java_id;
  uint32_t slot;  // of the live table
  uint32_t blocker_id;
  uint32_t tid;
  uint32_t owner_java_id;
  uint32_t stack_id;
  uint32_t weight;
  uint32_t waker_java_id;
  uint32_t waker_stack_id;
  uint16_t kind;   // hw_blocker_kind; 0: no wait
  uint16_t flags;  // hw_block_flags
  int64_t start_ns;
  int64_t waking_ns;
};

class Waits {
 public:
  // Names a wait; 0: none. One that is over, or of an earlier recording, is recognised, so it may be ended in vain.
  using Handle = uint64_t;
  static constexpr uint32_t kMostNested = 8;

  // `recording`: tells handles of one table from those of another (8 bits count).
  bool reserve(uint32_t recording) noexcept;

  // `over` gets what this beginning shows to be over (kind 0: nothing): a wait seen at an attach, whose end nobody
  // tells, or the oldest of more than a thread can have.
  Handle begin(const Wait& wait, Wait& over) noexcept;
  // Takes it out. False: it is over already.
  bool end(Handle handle, Wait& wait) noexcept;
  // False: no thread of its part of the table waits, so wake() would find nothing.
  bool may_wait(uint32_t target) const noexcept {
    return target != 0 && stripes_[target % kStripes].waits.load(std::memory_order_relaxed) != 0;
  }
  // The newest park of `target` that nobody has woken yet is woken. 0: there is none. One that was seen at an attach
  // ends with this and is taken out into `over`.
  Handle wake(uint32_t target, uint32_t waker, int64_t now_ns, Wait& over) noexcept;
  void set_waker_stack(Handle handle, uint32_t stack_id) noexcept;
  // Takes out the newest wait of a thread, of any thread; false: there is none.
  bool take(uint32_t java_id, Wait& wait) noexcept;
  bool take_any(Wait& wait) noexcept;
  // No wait begins or ends any more; those that go on are left to take_any().
  void close() noexcept;

  uint64_t count() const noexcept;

 private:
  static constexpr uint32_t kIndexBits = 22;
  static constexpr uint32_t kStripeBits = 6;
  static constexpr uint32_t kGenerationBits = 28;  // and 8 for the recording
  static constexpr uint32_t kMost = 1U << kIndexBits;
  static constexpr uint32_t kLeast = 1U << 12;
  static constexpr uint32_t kBlock = 32;  // entries that a stripe takes at a time
  static constexpr uint32_t kBuckets = 1U << 16;
  static constexpr uint32_t kStripes = 1U << kStripeBits;

  // An entry stays with one stripe for good, so that stripe's lock guards all of it.
  struct alignas(64) Entry {
    Wait wait;
    uint32_t next;  // in its bucket, or of the free ones
    uint32_t generation;
  };
  static_assert(sizeof(Entry) == 64, "a line of the cache each");
  struct alignas(64) Stripe {
    SpinLock lock;
    bool is_closed = false;
    uint32_t free = 0;
    uint32_t fresh = 0;  // entries never used: from here to fresh_end
    uint32_t fresh_end = 0;
    std::atomic<uint32_t> waits = 0;
  };

  Stripe& stripe(uint32_t java_id) noexcept { return stripes_[java_id % kStripes]; }
  uint32_t& bucket(uint32_t java_id) const noexcept { return buckets_[java_id % kBuckets]; }
  Handle handle(uint32_t index) const noexcept;
  Entry* lock_current(Handle handle) noexcept;
  static uint32_t stripe_of(Handle handle) noexcept { return (handle >> kIndexBits) % kStripes; }
  void take_out(Stripe& home, uint32_t* link, Wait& wait) noexcept;
  uint32_t* find_over(const Wait& wait) noexcept;

  std::array<Stripe, kStripes> stripes_{};
  Arena<Entry> entries_;
  Arena<uint32_t> buckets_;
  std::atomic<uint32_t> next_{1};
  uint32_t recording_ = 0;
};

class Holds {
 public:
  bool reserve() noexcept;
  // Keyed by blocker and thread; a second beginning replaces the first.
  void begin(uint32_t blocker_id, uint32_t java_id, int64_t now_ns) noexcept;
  // When it began; 0: it was not seen to.
  int64_t end(uint32_t blocker_id, uint32_t java_id) noexcept;
  // A thread ended: what it still holds will not be released.
  void drop(uint32_t java_id) noexcept;

 private:
  static constexpr uint32_t kMost = 1U << 16;
  static constexpr uint32_t kBlock = 32;
  static constexpr uint32_t kBuckets = 1U << 12;
  static constexpr uint32_t kStripes = 16;

  struct Entry {
    int64_t start_ns;
    uint32_t blocker_id;
    uint32_t java_id;
    uint32_t next;
  };
  struct alignas(64) Stripe {
    SpinLock lock;
    uint32_t free = 0;
    uint32_t fresh = 0;
    uint32_t fresh_end = 0;
  };

  uint32_t* find(uint32_t blocker_id, uint32_t java_id) noexcept;
  void take_out(Stripe& home, uint32_t* link) noexcept;

  std::array<Stripe, kStripes> stripes_{};
  Arena<Entry> entries_;
  Arena<uint32_t> buckets_;
  std::atomic<uint32_t> next_{1};
};

}  // namespace headway::agent
