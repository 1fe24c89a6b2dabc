// Joins waits for locks with the kernel's wakings, in the one pass over the scheduling records, and so finds:
//
//  - Who ended a block that no unpark was seen for (monitors, Object.wait, interrupts): the waker of the last
//    scheduling cycle that ended inside the block. A thread that was woken may sleep once more before it goes on,
//    because the JVM is at a safepoint; so wakings by threads that are not Java's count only where there is none by a
//    Java thread or an interrupt (a timeout).
//  - Holds of monitors. HotSpot wakes a waiter of a monitor only when it is released, so each waking of a thread that
//    is blocked on it (or waits to get it back) is a release by the waker. A contended acquisition that ended at t1,
//    with others queued, and the acquirer's first release after it at t2 are one hold.
//
//    Not seen: acquisitions without contention, and releases that wake nobody, because nobody waits or one that was
//    woken before is still on its way (the JVM then spares the waking). So an acquisition that nobody was queued for is
//    none here: the acquirer's next waking may be the release of a later one. If the holder comes back for the monitor,
//    or another one gets it or releases it, before any waking of its own, its hold is given up. A thread that barges in
//    - releases and gets the monitor back without blocking before the one it woke has run - ends its hold with the
//    first waking; the next ones are releases of acquisitions that were not contended, and make no hold.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "decode/lock_tables/lock_blockers.h"
#include "decode/lock_tables/lock_cursor.h"

namespace headway {

struct WakingHold {
  int64_t start_ns, end_ns;
  int32_t blocker;  // row of LockBlockers
  int32_t thread;   // its thread_id, -1 for a virtual thread
  uint32_t java_id;
  uint32_t file;
};

// Listens to the pass over the scheduling records, and then knows who ended which block.
class KernelWakers {
 public:
  // java_of_thread[thread_id] is a Java thread's id, else negative. What is referred to must outlive this.
  KernelWakers(const std::vector<LockFile>& files, const std::vector<JvmThreads>& jvms, const LockBlockers& blockers,
               const std::vector<int64_t>& java_of_thread);

  // A sleeping thread is woken; in order of time. `waker` is a thread_id, negative for others.
  void on_waking(uint32_t thread, int64_t ts_ns, int32_t waker, bool irq);
  // A sleeping thread runs again, and nobody saw by whom it was woken.
  void on_unseen_waking(uint32_t thread, int64_t ts_ns);
  // Closes what is open at the end of the recording.
  void finish();

  struct Waker {
    int64_t waking_ns;  // 0: not seen
    int32_t thread;     // negative: an interrupt, or none of the recording
  };
  Waker of(uint64_t row) const { return row < rows_ ? Waker{waking_ns_.get()[row], waker_.get()[row]} : Waker{0, -1}; }
  const std::vector<WakingHold>& holds() const { return holds_; }

 private:
  struct Block {  // the present one of a thread
    uint64_t row = UINT64_MAX;
    int64_t end_ns = 0;
    int32_t monitor = -1;
    bool wants_waker = false;
  };
  struct Acquisition {  // of a monitor, when its block ends
    int64_t ns;
    int32_t monitor;
    int32_t thread;
    uint32_t java_id;
    uint32_t file;
    bool is_virtual;
    bool operator>(const Acquisition& other) const { return ns > other.ns; }
  };
  struct Held {  // a monitor's last contended acquisition, until its release
    int64_t since_ns = 0;
    int32_t thread = -1;  // of a virtual thread its carrier
    uint32_t java_id = 0;
    uint32_t file = 0;
    uint32_t queued = 0;  // threads that wait to enter
    bool is_virtual = false;
  };
  struct Freed {
    void operator()(void* memory) const { std::free(memory); }
  };
  template <typename T>
  using Zeroed = std::unique_ptr<T, Freed>;  // pages that nobody writes to take no memory

  void admit(int64_t until_ns);
  void begin_block(const hw_block& block, uint32_t file, uint64_t row);
  void apply_acquisitions(int64_t until_ns);
  void release(int32_t monitor, int32_t waker, int64_t ts_ns);
  Block* block_of(uint32_t thread, int64_t ts_ns);
  bool is_java(int32_t thread) const;

  const std::vector<JvmThreads>& jvms_;
  const LockBlockers& blockers_;
  const std::vector<int64_t>& java_of_thread_;
  BlockCursor cursor_;
  bool more_;
  uint64_t rows_ = 0;
  Zeroed<int64_t> waking_ns_;
  Zeroed<int32_t> waker_;
  std::vector<Block> blocks_;  // by thread_id
  std::vector<Held> held_;     // by monitor
  std::priority_queue<Acquisition, std::vector<Acquisition>, std::greater<>> coming_;
  std::vector<WakingHold> holds_;
};

}  // namespace headway
