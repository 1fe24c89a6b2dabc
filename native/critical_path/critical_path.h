// The critical path through the slices of a recording: at each instant of a span the one thread, and its state, that
// the end of the span was waiting for.
//
// The walk goes backwards in time, and slices are stored in order of their ends: fed from the last to the first, each
// slice arrives before the walk needs it, and only the last one of each thread has to be remembered. A thread's running
// and runnable time is on the path. A block that another thread ended is replaced by what that thread did meanwhile,
// and so on; the walk comes back to the blocked thread where its block begins (bounded by the blocking window, as in
// Giraldeau and Dagenais, "Wait analysis of distributed systems using kernel tracing", and in Perfetto's critical
// paths). A block that an interrupt ended, or nobody knows who, is on the path itself. From a thread of the VM that a
// thread of the program woke the path goes over to that one, and does not come back: before that the VM's thread was
// idle.
//
// Every step takes time off the path, or follows a waking, each at most once: linear in slices, whatever they claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/stored_slices.h"

namespace headway {

enum class PathRole : uint8_t { kOther, kVm, kProgram };

// What the walk knows of threads beside their slices, by thread_id.
struct PathThreads {
  std::vector<int64_t> birth_ns;
  std::vector<int32_t> parent;      // -1: unknown
  std::vector<uint8_t> is_sampler;  // its wakings are signals: a handler runs, and the block goes on. Empty: none is
  std::vector<uint8_t> role;        // PathRole. Empty: kOther

  size_t size() const { return birth_ns.size(); }
};

// What the JVM said of waits, in order of (thread, start_ns); those of a thread are [first[thread], first[thread + 1]).
struct PathWaits {
  static constexpr int64_t kWhenWoken = -2;  // waking_ns: not known, the waker let go when the wait ended

  std::vector<int64_t> first;
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  std::vector<int32_t> waker;  // -1: unknown
  std::vector<int64_t> waking_ns;
};

// Slices of several row groups, each with a tick of its own.
struct PackedSlices : StoredSlices {
  const int16_t* tick_ns = nullptr;
};

enum class OnPath : uint8_t {
  kRunning,
  kRunnable,
  kInterrupted,  // blocked until an interrupt came, be that behind the point where the path came to this thread
  kUnknown,      // blocked; who ended it is not known, or can't be followed
  kOutside,      // blocked until a thread outside the recording woke it
  kCut,          // blocked; what ended it lies behind the point where the path came to this thread
  kStarting,     // between the thread's birth and its first record
  kNoRecord,     // no slice tells
};

// Pieces of the path, from the last to the first: the start of each is the end of the next.
struct PathPieces {
  std::vector<int32_t> thread;
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  std::vector<int64_t> stolen_ns;
  std::vector<uint8_t> state;           // OnPath
  std::vector<uint8_t> blocked;         // of blocked pieces: slice.blocked_state + 4 * blocked_in
  std::vector<int32_t> wait;            // of blocked pieces: the row of PathWaits, or -1
  std::vector<int32_t> waiter;          // the thread that waits for this one, or -1: nobody does
  std::vector<int32_t> waiter_wait;     // what it waits in: a row of PathWaits, or -1
  std::vector<uint8_t> waiter_blocked;  // as `blocked`, of its block

  size_t size() const { return thread.size(); }
};

// The walk: fed with slices from the last to the first, it yields the pieces of the path.
class CriticalPath {
 public:
  // The path of `thread` through (from_ns, to_ns]. Throws std::invalid_argument where the columns do not fit each
  // other.
  CriticalPath(PathThreads threads, PathWaits waits, int32_t thread, int64_t from_ns, int64_t to_ns);

  // Batches come from the end of the table to its begin, the rows of each in the table's order. Throws
  // std::invalid_argument when they are not in order of end_ticks.
  void batch(const PackedSlices& slices);
  // No more slices: the rest of the path is what is known without.
  void finish();
  bool is_done() const { return is_done_; }
  uint64_t followed() const { return followed_; }
  // Hands over the pieces found so far.
  PathPieces take();

 private:
  struct Cycle {  // blocked from begin_ns to woken_ns, then runnable, from start_ns on running
    int64_t begin_ns = INT64_MAX;
    int64_t woken_ns = INT64_MAX;
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = INT64_MAX;
    int64_t stolen_ns = 0;
    int32_t waker = -1;
    uint8_t flags = 0;
    uint8_t blocked_in = 0;
  };
  struct Frame {  // a thread whose block the path is inside of
    int32_t thread;
    int32_t wait;
    int64_t bound_ns;  // the path comes back to it here
    uint8_t blocked;
  };

  void remember(const PackedSlices& slices, size_t row);
  bool is_signalled(const Cycle& cycle) const;
  void advance(int64_t next_end_ns);
  bool step(int64_t next_end_ns);
  void on_cycle(const Cycle& cycle);
  bool follow_waker(const Cycle& cycle, int32_t wait);
  void follow(int32_t waker, const Cycle& cycle, int32_t wait);
  bool can_follow(int32_t thread, int64_t ns) const;
  bool is_asked_by(int32_t waker) const;
  void go_over(int32_t thread);
  void go_to_parent();
  void come_back();
  OnPath block_state(const Cycle& cycle) const;
  int32_t wait_of(int32_t thread, int64_t begin_ns, int64_t end_ns) const;
  int64_t bound() const;
  void put(int64_t from_ns, OnPath state, int64_t stolen_ns = 0, uint8_t blocked = 0, int32_t wait = -1);

  PathThreads threads_;
  PathWaits waits_;
  int32_t thread_;
  int64_t from_ns_;
  int64_t now_ns_;  // the path from here to the end is known
  int64_t last_end_ns_ = INT64_MAX;
  bool is_done_ = false;
  uint64_t followed_ = 0;
  std::vector<Cycle> last_;          // of each thread: its earliest slice so far
  std::vector<int64_t> arrived_ns_;  // when the walk last came to a thread
  std::vector<uint8_t> is_waiting_;  // the thread is in frames_
  std::vector<Frame> frames_;        // their bounds grow
  PathPieces pieces_;
};

}  // namespace headway
