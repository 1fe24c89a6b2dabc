// Waits in progress by Java thread: a striped table that grows, entries that stay where they are. A thread may have
// several waits, one within another; the newest is found first.
//
// The wait of a thread that has no other is in a cell of its own, chosen by its id, whose lock is on the same cache
// line: the waiter, its waker on another core and the waiter again hand one line to each other, not three (lock, bucket
// and entry), and share none with other threads. A second wait within the first, and that of a thread whose cell
// another one uses, go to the table.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "agent/core/arena.h"
#include "agent/core/spin.h"
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

// The waits of all threads of the JVM that are in progress.
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
  // Takes out a wait of the thread that was seen at an attach: to be asked before the thread's next wait is counted, so
  // that nobody is counted twice at once. False: there is none.
  bool take_seen(uint32_t java_id, Wait& wait) noexcept;
  // Takes it out. False: it is over already.
  bool end(Handle handle, Wait& wait) noexcept;
  // Whether it is in the table.
  bool goes_on(Handle handle) noexcept;
  // Whether the thread is in any wait.
  bool waits(uint32_t java_id) noexcept;
  // False: no thread of its cell and its part of the table waits, so wake() would find nothing.
  bool may_wait(uint32_t target) const noexcept {
    return target != 0 && (is_taken(cell(target)) || some_in_table(target));
  }
  struct Woken {
    Handle handle = 0;          // 0: none
    bool ends_with_it = false;  // it was seen at an attach, so nobody will tell its end: that is for the caller to do
  };
  // The newest park of `target` is woken, if nobody has woken it yet.
  Woken wake(uint32_t target, uint32_t waker, int64_t now_ns) noexcept;
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
  static constexpr uint32_t kCells = 1U << 12;  // the first entries
  static constexpr uint32_t kLeast = 2 * kCells;
  static constexpr uint32_t kBlock = 32;  // entries that a stripe takes at a time
  static constexpr uint32_t kBuckets = 1U << 16;
  static constexpr uint32_t kStripes = 1U << kStripeBits;

  // An entry of the table stays with one stripe for good, so that stripe's lock guards all of it. That of a cell is in
  // `next`: kLocked, and kTaken while there is a wait in it.
  struct alignas(64) Entry {
    Wait wait;
    uint32_t next;  // in its bucket, or of the free ones
    uint32_t generation;
  };
  static constexpr uint32_t kLocked = 1;
  static constexpr uint32_t kTaken = 2;
  static_assert(sizeof(Entry) == 64, "a line of the cache each");
  struct alignas(64) Stripe {
    SpinLock lock;
    bool is_closed = false;
    uint32_t free = 0;
    uint32_t fresh = 0;  // entries never used: from here to fresh_end
    uint32_t fresh_end = 0;
    std::atomic<uint32_t> waits = 0;
  };

  // Holds a cell's lock.
  class Locked {
   public:
    explicit Locked(Entry& cell) noexcept;
    ~Locked();
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    bool is_taken() const noexcept { return taken_; }
    bool is_of(uint32_t java_id) const noexcept { return taken_ && cell_.wait.java_id == java_id; }
    Wait& wait() const noexcept { return cell_.wait; }
    void put(const Wait& wait) noexcept;
    void take_out(Wait& wait) noexcept;

   private:
    [[gnu::cold, gnu::noinline]] uint32_t lock_in_the_end() noexcept;
    Entry& cell_;
    bool taken_;
  };

  // Entry 0 is none, so some threads have no cell; nor has one whose id is not known, which may be many.
  static bool has_cell(uint32_t java_id) noexcept { return java_id % kCells != 0; }
  Entry& cell(uint32_t java_id) const noexcept { return entries_[java_id % kCells]; }
  static bool is_taken(Entry& cell) noexcept {
    return (std::atomic_ref<uint32_t>(cell.next).load(std::memory_order_relaxed) & kTaken) != 0;
  }
  bool some_in_table(uint32_t java_id) const noexcept {
    return in_table_.load(std::memory_order_relaxed) != 0 &&
           stripes_[java_id % kStripes].waits.load(std::memory_order_relaxed) != 0;
  }
  Stripe& stripe(uint32_t java_id) noexcept { return stripes_[java_id % kStripes]; }
  uint32_t& bucket(uint32_t java_id) const noexcept { return buckets_[java_id % kBuckets]; }
  Handle handle(uint32_t index) const noexcept;
  bool may_name(Handle handle) const noexcept;
  Entry* lock_current(Handle handle) noexcept;  // of the table
  static uint32_t index_of(Handle handle) noexcept { return static_cast<uint32_t>(handle % (1U << kIndexBits)); }
  static uint32_t stripe_of(Handle handle) noexcept { return (handle >> kIndexBits) % kStripes; }
  void take_out(Stripe& home, uint32_t* link, Wait& wait) noexcept;
  uint32_t* find_over(const Wait& wait) noexcept;
  struct InTable {
    uint32_t count = 0;
    bool has_seen = false;  // one that was seen at an attach
  };
  [[gnu::cold]] InTable in_table(uint32_t java_id) noexcept;
  [[gnu::cold]] Handle begin_in_table(const Wait& wait, Wait& over) noexcept;
  [[gnu::cold]] bool end_in_table(Handle handle, Wait& wait) noexcept;
  [[gnu::cold]] bool wake_in_table(uint32_t target, uint32_t waker, int64_t now_ns, Woken& woken) noexcept;
  Woken wake_this(uint32_t index, uint32_t waker, int64_t now_ns) noexcept;
  bool take_from_table(uint32_t java_id, Wait& wait) noexcept;
  [[gnu::cold]] bool take_seen_from_table(uint32_t java_id, Wait& wait) noexcept;

  // Every wait looks at these, and almost none changes them.
  Arena<Entry> entries_;
  Arena<uint32_t> buckets_;
  std::atomic<uint32_t> next_{kCells};
  std::atomic<uint32_t> in_table_{0};   // waits
  std::atomic<bool> has_seen_{false};   // there was a wait that was seen at an attach
  std::atomic<bool> is_closed_{false};  // what cells go by; looked at with one locked
  uint32_t recording_ = 0;
  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace headway::agent
