// Places acquisitions of locks in the work of threads, as they are after a change, so that a replay decides anew who gets a
// lock when.
//
// A thread that waited for a lock asks for it where it began to wait; what it waited there, and ran meanwhile to find the lock
// taken, is no part of its work. What it had the lock for, it does with the lock in hand, or the first part of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/lock_acquisitions.h"
#include "replay/run_steps.h"

namespace headway {

struct LockChange {
  bool is_removed = false;  // nobody asks for it
  double held_part = 1;     // of what was done with it in hand; the rest is done after its release
  int32_t parts = 1;        // so many locks instead of the one; who gets which is left to chance
  bool is_fair = false;     // whoever waits longest gets it next, else whoever comes first when it is free
};

struct LockPlan {
  std::vector<StepSignal> signals;  // those of the run, and acquisitions and releases
  std::vector<uint8_t> is_decided;  // by step: a wait for a lock, which the replay decides
  // By lock: how often a thread that comes to the free lock before the one that was woken for it gets it, as recorded: 0 of
  // a fair one.
  std::vector<double> barging;
  std::vector<int32_t> origin;  // by lock: the recorded one
  uint64_t seed = 0;
  double late_ns = 0;  // core time that a thread lost that a release had woken, and that then got the lock, on average

  size_t locks() const { return barging.size(); }
};

// `changes` by lock. Acquisitions of threads without steps are left out.
LockPlan plan_locks(const RunSteps& run, const std::vector<Acquisition>& acquired,
                    const std::vector<LockChange>& changes, uint64_t seed);

}  // namespace headway
