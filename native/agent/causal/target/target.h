// The line, method or lock that is being made faster now, and what samples have seen of it since the experiment began.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/causal/common/options.h"
#include "agent/causal/ledger/ledger.h"
#include "agent/causal/sampling/sample.h"
#include "agent/causal/target/blocked_time.h"
#include "agent/causal/target/tally.h"

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
  std::atomic<bool> is_whole_run{false};
  Counts counts;
  std::atomic<int64_t> began_ns{0};  // the experiment
  std::atomic<int64_t> ends_ns{0};   // as planned
  std::atomic<int64_t> paid_ns{0};   // when the others will have paid for all sleeps that were reported to them
  BlockedTime asleep;                // in its line
};
static_assert(std::atomic<Active>::is_always_lock_free);
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is constinit, which the check overlooks
extern constinit ActiveTarget target;

Active active_at(uint32_t line, int speedup_pct, TargetKind kind);
// What was asked for by name: a line has an id once its class is there, others than lines have one from the start. 0:
// nothing was, or it is not there so far.
uint32_t asked_target();
// A class came: a run that is one experiment may have waited for it. Any thread, not in a signal handler.
void find_target() noexcept;

// Counts the sample; if it is in the line that is being made faster, all others owe. The caller settles afterwards.
void take_sample(DelayAccount& account, const Sample& sample) noexcept;  // [signal]
// A sleep of the thread that begins now and is to last for `sample.weight_ns`. If it ends within the experiment and is
// in the line that is being made faster, all others owe at once: they have the time of the sleep to pay in.
void tell_sleep(DelayAccount& account, const Sample& sample) noexcept;
void end_reported_sleep(DelayAccount& account, const Sample& sample) noexcept;  // it took `sample.weight_ns`
// Whoever sleeps since before the experiment began makes all others owe for the rest of the sleep.
void tell_sleeps_of_before() noexcept;
// Whether a sleep of that length may be reported ahead: others have to be let go if the run ends before it.
bool may_tell_sleep(int64_t ns) noexcept;
void collection_ended(int64_t pause_ns) noexcept;  // on the VM thread

}  // namespace headway::agent::causal
