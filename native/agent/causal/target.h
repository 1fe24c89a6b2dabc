// What is being made faster now, and what of it has been seen since the experiment began.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "agent/causal/blocked_time.h"
#include "agent/causal/options.h"
#include "agent/causal/tally.h"

namespace headway::agent::causal {

// What is being made faster, in one word: a signal handler must not see half a change.
struct Active {
  uint32_t experiment = 0;  // of the ledger: a handler that is late must not delay the next one
  uint32_t line : 20 = 0;
  uint32_t speedup_pct : 7 = 0;
  uint32_t kind : 4 = 0;  // TargetKind
  uint32_t is_on : 1 = 0;

  bool is(TargetKind other) const { return kind == static_cast<uint32_t>(other); }
};
static_assert(sizeof(Active) == sizeof(uint64_t) && kCollectionsTarget < 1 << 20);

// Since the experiment began.
struct Counts {
  std::atomic<uint64_t> samples{0};
  std::atomic<int64_t> sampled_ns{0};
  std::atomic<int64_t> ran_ns{0};  // of that, running
  std::atomic<uint64_t> hits{0};
  std::atomic<int64_t> hits_ns{0};
  std::atomic<int64_t> all_hits_ns{0};  // where threads slept at the same time, the sum over them
  std::atomic<uint64_t> collections{0};
  std::atomic<int64_t> collections_ns{0};

  void clear() {
    samples = hits = collections = 0;
    sampled_ns = ran_ns = hits_ns = all_hits_ns = collections_ns = 0;
  }
};

struct ActiveTarget {
  std::atomic<Active> active{};
  std::atomic<uint32_t> method{0};  // see target_method()
  // Lines or methods that were asked for by the same name as the first: of nested classes, of companions. Sorted; null:
  // none. Replaced as a whole when more classes have come, and never freed: a handler may look at an older one.
  std::atomic<const std::vector<uint32_t>*> others{nullptr};
  std::atomic<bool> is_whole_run{false};
  Counts counts;
  std::atomic<int64_t> began_ns{0};  // the experiment
  std::atomic<int64_t> ends_ns{0};   // as planned
  std::atomic<int64_t> told_ns{0};   // when the others will have paid for all sleeps that they were told of
  BlockedTime asleep;                // in its line
};
static_assert(std::atomic<Active>::is_always_lock_free);
extern constinit ActiveTarget target;

Active active_at(uint32_t line, int speedup_pct, TargetKind kind);
// What was asked for by name: a line has an id once its class is there, others than lines have one from the start. 0:
// nothing was, or it is not there so far.
uint32_t asked_target();

}  // namespace headway::agent::causal
