// Which samples and pauses are hits, and what they make all others owe.
#include "agent/causal/target/target.h"

#include <algorithm>

#include "agent/causal/common/activity.h"
#include "agent/causal/common/options.h"
#include "agent/causal/ledger/ledger.h"
#include "agent/causal/sampling/lines.h"
#include "agent/causal/sampling/sampled_threads.h"
#include "agent/causal/sampling/target_ids.h"
#include "agent/causal/sections/lock_target.h"
#include "agent/core/clock.h"

namespace headway::agent::causal {

constinit ActiveTarget target;

namespace {

// In a run that is one experiment, a sleep that is longer is looked at while it lasts: who waits for the program's end
// may sleep for days, and all others would have stood still for as long.
constexpr int64_t kMostAheadNs = 1'000'000'000;
// For sleeps of many threads at once: nobody stands still for longer at a time. As long as the longest of experiments.
constexpr int64_t kMostOwedNs = 5'000'000'000;

void count_hit(int64_t weight_ns, int64_t own_ns) {
  target.counts.hits.fetch_add(1, std::memory_order_relaxed);
  target.counts.hits_ns.fetch_add(weight_ns, std::memory_order_relaxed);
  target.counts.all_hits_ns.fetch_add(own_ns, std::memory_order_relaxed);
}

bool is_hit(const Active& active, const Sample& sample) {
  if (active.is(TargetKind::kMethod) || active.is(TargetKind::kLock)) return sample.in_target_method;
  const bool is_line = active.is(TargetKind::kNone) || active.is(TargetKind::kLine);
  if (!is_line || active.line == 0 || sample.line == kNoLine) return false;
  return active.line == sample.line || (active.is(TargetKind::kLine) && is_other_target(sample.line));
}

// What of a sleep up to `to_ns` lies in the experiment, and what of that makes it shorter.
BlockedTime::Part part_asleep(const Active& active, int64_t weight_ns, int64_t to_ns) {
  if (ledger().experiment() != active.experiment) return {0, 0};
  const int64_t until_ns = to_ns - target.began_ns.load();
  return target.asleep.add(active.experiment, until_ns - weight_ns, until_ns);
}

void count(const Sample& sample) {
  target.counts.samples.fetch_add(1, std::memory_order_relaxed);
  target.counts.sampled_ns.fetch_add(sample.weight_ns, std::memory_order_relaxed);
  if (!sample.is_blocked) target.counts.ran_ns.fetch_add(sample.weight_ns, std::memory_order_relaxed);
}

void hit(DelayAccount& account, const Active& active, const BlockedTime::Part& part, const Sample& sample) {
  const int64_t delay_ns = part.new_ns * active.speedup_pct / 100;
  const auto add = sample.is_blocked ? &Ledger::hit_asleep : &Ledger::hit;
  if (delay_ns > 0 && !(ledger().*add)(account, delay_ns, active.experiment)) return;  // it is over
  // It stood still for longer than a faster program's thread would have.
  if (sample.is_whole) ledger().stood_longer(part.own_ns, part.own_ns - part.own_ns * active.speedup_pct / 100);
  const int64_t same_ns = part.own_ns * active.speedup_pct / 100 - delay_ns;
  if (same_ns > 0) ledger().excuse_hit(account, same_ns, active.experiment);
  count_hit(part.new_ns, part.own_ns);
}

// Where several sleep at once, the others pay for one after the other: false if they could not within the experiment.
bool may_be_paid(int64_t delay_ns) {
  int64_t from_ns = target.paid_ns.load();
  int64_t until_ns = 0;
  do {
    const int64_t now = monotonic_ns();
    until_ns = std::max(from_ns, now) + delay_ns;
    if (until_ns > std::min(target.ends_ns.load(), now + kMostOwedNs)) return false;
  } while (!target.paid_ns.compare_exchange_weak(from_ns, until_ns));
  return true;
}

// Each thread has paid for the sleeps that others reported before its own begins, so that nothing of it is saved twice.
// Once in an experiment: whoever begins one and whoever sleeps may come by at the same time.
void hit_ahead(DelayAccount& account, const Active& active, const Sample& sample, int64_t until_ns) {
  if (until_ns > target.ends_ns.load() || !is_hit(active, sample)) return;
  if (!may_be_paid(sample.weight_ns * active.speedup_pct / 100)) return;
  if (account.sleep_counted.exchange(active.experiment) == active.experiment) return;
  hit(account, active, {sample.weight_ns, sample.weight_ns}, sample);
  if (active.speedup_pct > 0) call_to_pay();
}

}  // namespace

Active active_at(uint32_t line, int speedup_pct, TargetKind kind) {
  Active active;
  active.line = line & 0xFFFFF;
  active.speedup_pct = static_cast<uint32_t>(speedup_pct) & 0x7F;
  active.kind = static_cast<uint32_t>(kind) & 0xF;
  return active;
}

uint32_t asked_target() {
  const Target& asked = causal_spec().target;
  if (asked.kind != TargetKind::kMethod && asked.kind != TargetKind::kLock) set_target_method(0);
  switch (asked.kind) {
    case TargetKind::kNone:
      return 0;
    case TargetKind::kLock:
      set_target_method(kSectionsTarget);
      return knows_sections() ? kLockTarget : 0;
    case TargetKind::kLine:
      return set_target_ids(find_lines(asked.place));
    case TargetKind::kMethod:
      set_target_method(set_target_ids(find_methods(asked.place)));
      return target_method() != 0 ? kMethodTarget : 0;
    case TargetKind::kCollections:
      return kCollectionsTarget;
  }
  return 0;
}

void find_target() noexcept {
  if (!target.is_whole_run.load(std::memory_order_relaxed)) return;
  const uint32_t line = asked_target();
  Active now = target.active.load();
  if (line == 0 || now.is_on == 0 || now.line == (line & 0xFFFFF)) return;
  Active next = now;
  next.line = line & 0xFFFFF;
  target.active.compare_exchange_strong(now, next);  // if it fails, the run has just ended
}

void take_sample(DelayAccount& account, const Sample& sample) noexcept {
  if (!is_on()) return;
  tally(sample);
  const Active active = target.active.load();
  if (active.is_on == 0) return;
  count(sample);
  if (!is_hit(active, sample)) return;
  const BlockedTime::Part part = sample.is_blocked ? part_asleep(active, sample.weight_ns, monotonic_ns())
                                                   : BlockedTime::Part{sample.weight_ns, sample.weight_ns};
  hit(account, active, part, sample);
}

bool may_tell_sleep(int64_t ns) noexcept {
  return ns <= kMostAheadNs || !target.is_whole_run.load(std::memory_order_relaxed);
}

void tell_sleep(DelayAccount& account, const Sample& sample) noexcept {
  const int64_t until_ns = monotonic_ns() + sample.weight_ns;
  account.sleep_counted = 0;
  account.sleeps_in_line = sample.line;
  account.sleeps_in_target = sample.in_target_method;
  account.sleeps_until = until_ns;  // the last: who begins an experiment looks at it first
  const Active active = target.active.load();
  if (active.is_on != 0) hit_ahead(account, active, sample, until_ns);
}

void end_reported_sleep(DelayAccount& account, const Sample& sample) noexcept {
  const int64_t until_ns = account.sleeps_until.exchange(0);
  if (!is_on()) return;
  tally(sample);
  const Active active = target.active.load();
  if (active.is_on == 0) return;
  count(sample);
  // Interrupted: the others stand still for as long as was reported, and now so does this thread.
  const int64_t early_ns = (until_ns - monotonic_ns()) * active.speedup_pct / 100;
  if (early_ns <= 0 || account.sleep_counted.load() != active.experiment) return;
  ledger().pay(account, -early_ns, active.experiment);
}

void tell_sleeps_of_before() noexcept {
  const Active active = target.active.load();
  const int64_t from_ns = monotonic_ns();
  ledger().each([&](DelayAccount& account) {
    const int64_t until_ns = account.sleeps_until.load();
    if (until_ns <= from_ns) return;
    Sample sample{};
    sample.line = account.sleeps_in_line.load();
    sample.in_target_method = account.sleeps_in_target.load();
    sample.weight_ns = until_ns - from_ns;
    sample.is_blocked = sample.is_whole = true;
    hit_ahead(account, active, sample, until_ns);
  });
}

void collection_ended(int64_t pause_ns) noexcept {
  if (!is_on()) return;
  target.counts.collections.fetch_add(1, std::memory_order_relaxed);
  target.counts.collections_ns.fetch_add(pause_ns, std::memory_order_relaxed);
  const Active active = target.active.load();
  if (active.is_on == 0 || !active.is(TargetKind::kCollections)) return;
  count_hit(pause_ns, pause_ns);
  ledger().excuse_all(pause_ns * active.speedup_pct / 100);
}

}  // namespace headway::agent::causal
