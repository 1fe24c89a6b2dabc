// What the threads of a run do, and wait for, while it is replayed: slices in predicted time, as those of a recording, and
// waits for locks, so that the passes over a recording's slices go over those of a prediction, too.
//
// All threads that are ready run, however few cores there are: they share them evenly (AccountOptions::shares_cores). A thread
// that the JVM has stopped is blocked.
//
// Some 48 bytes a slice, and 32 more for each recorded one; kMostSlices bound it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/run_steps.h"

namespace headway {

// In order of end_ns; times are ns since the start of the span.
struct PredictedSlices {
  std::vector<int64_t> end_ns;
  std::vector<int64_t> running_ns;
  std::vector<int64_t> runnable_ns;
  std::vector<int64_t> blocked_ns;
  std::vector<int32_t> thread_id;
  std::vector<int32_t> waker_id;
  std::vector<uint8_t> flags;
  std::vector<uint8_t> blocked_in;
};

// Waits for planned locks, each as long as one thread had it; times are ns since the start of the span.
struct PredictedLockWaits {
  std::vector<int32_t> thread;
  std::vector<int32_t> lock;    // of the plan
  std::vector<int32_t> holder;  // -1: it was free, and kept for another thread
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
};

class ReplayTimeline {
 public:
  static constexpr size_t kMostSlices = 3 * RunSteps::kMostSlices;

  explicit ReplayTimeline(const RunSteps& run);

  // What the replay reports. A thread comes to a step, and waits;
  void waits(uint32_t thread, uint32_t step, double ns);
  // its wait is over, or will be, if nothing ends it before;
  void is_woken(uint32_t thread, double ns);
  // it runs, as far as it does not run yet;
  void runs(uint32_t thread, double ns);
  // its step is over.
  void ends(uint32_t thread, double ns);
  // It waits for a lock that another thread has, or still waits for it;
  void asks(uint32_t thread, uint32_t lock, int32_t holder, double ns);
  // the one that let go of it has woken it.
  void is_woken_by(uint32_t thread, uint32_t waker, double ns);
  // All threads of a process stand still, until they go on.
  void stops(uint32_t process, int32_t vm_thread, double ns);
  void goes_on(uint32_t process, double ns);
  void finish(double ns);

  bool is_new_of(const RunSteps& run) const { return &run_ == &run && end_ns_ < 0; }
  bool is_whole() const { return is_whole_; }  // false: there were too many slices
  const PredictedSlices& slices() const { return slices_; }
  const PredictedLockWaits& lock_waits() const { return lock_waits_; }
  // When a thread comes to where it was at a recorded time; the end where it never does.
  int64_t time_of(int32_t thread, int64_t recorded_ns) const;

 private:
  struct Thread {
    double begin_ns = 0;
    double woken_ns = -1;  // negative: it waits
    double start_ns = -1;  // negative: it does not run
    double asked_ns = -1;  // since when it has waited for who has the lock now; negative: for none
    uint32_t step = UINT32_MAX;
    uint32_t lock = 0;
    int32_t holder = -1;
    int32_t waker = -1;
    uint8_t flags = 0;
    uint8_t blocked_in = 0;
    bool has_step = false;
  };
  // When a thread comes to the parts of a step; negative: never.
  struct Times {
    int64_t begin_ns = -1;
    int64_t woken_ns = -1;
    int64_t start_ns = -1;
    int64_t end_ns = -1;
  };
  struct Stop {
    double start_ns;
    double end_ns;
    int32_t vm_thread;
  };

  void close(uint32_t thread, double ns);
  void put(uint32_t thread, const Thread& its, double ns);
  void blocks(Thread& its, double ns, int32_t waker);
  void end_lock_wait(uint32_t thread, double ns);
  void order();
  bool is_born(uint32_t thread) const;

  const RunSteps& run_;
  std::vector<Thread> threads_;
  std::vector<Times> times_;              // by step
  std::vector<std::vector<Stop>> stops_;  // by process, in order
  PredictedSlices slices_;
  PredictedLockWaits lock_waits_;
  int64_t end_ns_ = -1;  // negative: there was no replay yet
  bool is_whole_ = true;
};

}  // namespace headway
