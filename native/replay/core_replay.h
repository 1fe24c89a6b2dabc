// Replays runs on a number of cores, one alone or several beside each other: a discrete-event simulation.
// Which threads run when there are fewer cores than threads that are ready: core_sharing.h.
//
// Linear in steps and signals, times the logarithm of the threads: each step is begun once, and each signal sent once, so
// that a replay ends whatever the columns claim. Where nobody can go on before the end (a circle of waits, which no run
// that happened has), it is told to be stuck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/core_sharing.h"
#include "replay/lock_plan.h"
#include "replay/replay_timeline.h"
#include "replay/run_steps.h"
#include "replay/step_changes.h"

namespace headway {

struct ReplayChanges {
  double cores = 1;
  bool has_stolen = true;       // CPU time with what the host and others took: as the machine was
  double work_factor = 1;       // of CPU time
  double io_factor = 1;         // of how long I/O lasts
  double waking_factor = 1;     // of what waking a thread takes
  bool has_collections = true;  // false: what collections compute takes no time, and nobody is stopped
  bool has_lock_waits = true;   // false: nobody waits for a lock whose acquisitions are not planned
  CorePairs pairs;              // cores that are logical CPUs of fewer ones
};

// How much time this number of threads was ready to run.
struct ReplayLevels {
  double none_ns = 0;
  double one_ns = 0;   // and there are more cores
  double few_ns = 0;   // more than one, and fewer than cores
  double all_ns = 0;   // as many as cores
  double many_ns = 0;  // more than cores
};

struct Replayed {
  double end_ns = -1;  // since the start of the span; negative: stuck
  ReplayLevels levels;
  size_t forced = 0;                  // waits that were ended because nobody could go on: another order of locks
  double free_ns = 0;                 // for how long a core was free
  double lock_limited_ns = 0;         // of that while threads waited for planned locks
  std::vector<double> lock_waits_ns;  // by planned lock: how long threads waited for it, added up
  size_t most_ahead = 0;  // waits that a change ended, and that the other thread had not come to: the most at a time
};

struct ReplayRun {
  const RunSteps* steps = nullptr;
  const LockPlan* plan = nullptr;        // null: waits for locks are over when whoever ended them comes there
  int32_t last = -1;                     // the thread whose end is the run's; -1: all of the program's
  const StepChanges* changed = nullptr;  // null: no single steps are
  ReplayTimeline* timeline = nullptr;    // where what threads do is reported; null: nowhere
  std::vector<uint32_t> workers{};       // of each pool whose tasks are threads of the run (pool_tasks.h)
};

std::vector<Replayed> replay_on_cores(const std::vector<ReplayRun>& runs, const ReplayChanges& changes);

}  // namespace headway
