// Turns threads of a pool into the tasks that they ran, so that a replay decides anew which worker takes which task.
//
// A task is a thread of its own in the run that comes of it: it waits until it is submitted, then for one of the pool's
// workers, and has that until it ends. Which thread ran it in the recording does not matter any more. A task that its worker
// waited for is submitted where that wait was ended; one that was in the queue already, by the thread, and where in that
// one's work, that the caller names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/run_steps.h"

namespace headway {

// In order of (thread, begin_ns). A thread's first task begins with its first step, whatever its begin_ns.
struct PoolTasks {
  std::vector<int32_t> thread;  // that ran it
  std::vector<int64_t> begin_ns;
  std::vector<int32_t> pool;       // 0..
  std::vector<uint8_t> has_wait;   // its thread waited for it then, at begin_ns
  std::vector<int32_t> submitter;  // of one without: who submitted it, -1: somebody outside, at that time
  std::vector<int64_t> submitted_ns;

  size_t size() const { return thread.size(); }
  bool is_sound() const;
};

// Waits of other threads until a pool has done all that it was given: over only when every task has ended that had ended then.
struct PoolJoins {
  std::vector<int32_t> thread;
  std::vector<int64_t> ns;        // within the wait
  std::vector<int64_t> since_ns;  // tasks that ended later than this, and before the wait was over
  std::vector<int32_t> pool;

  size_t size() const { return thread.size(); }
  bool is_sound() const;
};

// The run with tasks instead of the threads that ran them; its threads keep their numbers, tasks follow.
RunSteps with_tasks(const RunSteps& run, const PoolTasks& tasks, const PoolJoins& joins);

}  // namespace headway
