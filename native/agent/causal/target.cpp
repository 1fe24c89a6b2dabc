// Which samples and pauses are hits, and what they make all others owe.
#include "agent/causal/target.h"

#include <algorithm>
#include <vector>

#include "agent/agent.h"
#include "agent/causal/causal.h"
#include "agent/causal/ledger.h"
#include "agent/causal/lines.h"
#include "agent/causal/lock_target.h"
#include "agent/causal/tally.h"

namespace headway::agent::causal {

constinit ActiveTarget target;

namespace {

void count_hit(int64_t weight_ns, int64_t own_ns) {
  target.counts.hits.fetch_add(1, std::memory_order_relaxed);
  target.counts.hits_ns.fetch_add(weight_ns, std::memory_order_relaxed);
  target.counts.all_hits_ns.fetch_add(own_ns, std::memory_order_relaxed);
}

bool is_among_others(uint32_t id) {
  return std::ranges::any_of(
      target.others, [id](const std::atomic<uint32_t>& other) { return other.load(std::memory_order_relaxed) == id; });
}

// Returns the first.
uint32_t ask_for(const std::vector<uint32_t>& ids) {
  for (size_t i = 0; i < target.others.size(); ++i) {
    target.others[i].store(i + 1 < ids.size() ? ids[i + 1] : 0, std::memory_order_relaxed);
  }
  return ids.empty() ? 0 : ids.front();
}

bool is_hit(const Active& active, const Sample& sample) {
  if (active.is(TargetKind::kMethod) || active.is(TargetKind::kLock)) return sample.in_target_method;
  const bool is_line = active.is(TargetKind::kNone) || active.is(TargetKind::kLine);
  if (!is_line || active.line == 0 || sample.line == kNoLine) return false;
  return active.line == sample.line || (active.is(TargetKind::kLine) && is_among_others(sample.line));
}

// What of a sample lies in the experiment, and what of that makes it shorter.
BlockedTime::Part part_of(const Active& active, const Sample& sample) {
  if (!sample.is_blocked) return {sample.weight_ns, sample.weight_ns};
  if (ledger().experiment() != active.experiment) return {0, 0};
  const int64_t to_ns = now_ns() - target.began_ns.load();
  return target.asleep.add(active.experiment, to_ns - sample.weight_ns, to_ns);
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
  if (asked.kind != TargetKind::kMethod && asked.kind != TargetKind::kLock) target.method = 0;
  switch (asked.kind) {
    case TargetKind::kNone:
      return 0;
    case TargetKind::kLock:
      target.method = kSectionsTarget;
      return knows_sections() ? kLockTarget : 0;
    case TargetKind::kLine:
      return ask_for(find_lines(asked.place));
    case TargetKind::kMethod:
      target.method = ask_for(find_methods(asked.place));
      return target.method != 0 ? kMethodTarget : 0;
    case TargetKind::kCollections:
      return kCollectionsTarget;
  }
  return 0;
}

uint32_t target_method() noexcept { return target.method.load(std::memory_order_relaxed); }

bool is_target_method(uint32_t method) noexcept {
  return method != 0 && (method == target_method() || is_among_others(method));
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

void take_sample(Account& account, const Sample& sample) noexcept {
  if (!is_on()) return;
  tally(sample);
  const Active active = target.active.load();
  if (active.is_on == 0) return;
  target.counts.samples.fetch_add(1, std::memory_order_relaxed);
  target.counts.sampled_ns.fetch_add(sample.weight_ns, std::memory_order_relaxed);
  if (!is_hit(active, sample)) return;
  const BlockedTime::Part part = part_of(active, sample);
  const int64_t delay_ns = part.new_ns * active.speedup_pct / 100;
  const auto hit = sample.is_blocked ? &Ledger::hit_asleep : &Ledger::hit;
  if (delay_ns > 0 && !(ledger().*hit)(account, delay_ns, active.experiment)) return;  // it is over
  const int64_t same_ns = part.own_ns * active.speedup_pct / 100 - delay_ns;
  if (same_ns > 0) ledger().excuse_hit(account, same_ns, active.experiment);
  count_hit(part.new_ns, part.own_ns);
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
