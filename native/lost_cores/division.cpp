// LossAccount: who gets the idle cores of a moment. docs/decisions/0007-lost-cores.md says why in this order.
#include <algorithm>

#include "lost_cores/loss_account.h"

namespace headway {
namespace {

constexpr int kHops = 16;
constexpr int kJoinersTried = 4;

}  // namespace

// One thread of a kind more (or less) runs.
void LossAccount::count_running(const Thread& t, int change) {
  is_used_dirty_ = true;
  if (t.kind >= kUsedKinds) {
    strangers_ += change;
    return;
  }
  running_all_ += change;
  stolen_all_ += change * t.stolen;
  running_[t.kind] += change;
  stolen_[t.kind] += change * t.stolen;
  used_[t.kind] = static_cast<double>(running_[t.kind]) - static_cast<double>(stolen_[t.kind]) * kRateUnit;
  rates_.used[t.kind] = used_[t.kind];
}

// How many cores are left: only looked at where that changed.
void LossAccount::count_used() {
  is_used_dirty_ = false;
  rates_.stolen = static_cast<double>(stolen_all_) * kRateUnit;
  double room = options_.cores - static_cast<double>(running_all_), part = 1.0;
  if (options_.shares_cores) {
    if (room < 0) part = options_.cores / static_cast<double>(running_all_);
    for (int kind = 0; kind < kUsedKinds; ++kind) rates_.used[kind] = used_[kind] * part;
    rates_.stolen *= part;
    room = std::max(room, 0.0);
  }
  rates_.excess = std::max(0.0, -room);
  // Others are in the way only as far as there are cores beside those that the program runs on.
  const double others = changes_.others() + static_cast<double>(strangers_);
  const double taken = std::min(others, std::max(0.0, room));
  const double headway = others > 0 ? changes_.headway() * (taken / others) : 0;
  rates_.used[kHeadwayKind] = used_[kHeadwayKind] * part + headway;
  rates_.other = taken - headway;
  idle_ = std::min(std::max(0.0, room) - taken, options_.most_idle);
}

void LossAccount::divide() {
  is_dirty_ = false;
  if (is_used_dirty_) count_used();
  split_ = {};
  for (double& each : rates_.per_waiter) each = 0;
  rates_.outside = is_outside() ? 1.0 : 0.0;
  double idle = idle_;
  if (!(idle > 0)) return;
  split_.is_in_spans = changes_.is_in_any();
  if (split_.is_in_spans) split_.unknown = idle * changes_.weight(SpanCode::kLoss);
  idle -= split_.unknown;
  split_.ready = std::min(idle, static_cast<double>(runnable_));
  idle -= split_.ready;
  give_to_waiters(split_.is_in_spans ? take_phases(idle) : idle);
  split_.rest_cause = rows_[split_.rest_row].cause;
}

// Whether the program does nothing but wait for work from outside, whoever has the cores meanwhile.
bool LossAccount::is_outside() {
  if (active_ > 0 || waiting_[static_cast<int>(Waits::kDirected)] > 0) return false;
  for (const SpanCode code : {SpanCode::kGcPause, SpanCode::kSafepoint, SpanCode::kStartup, SpanCode::kShutdown}) {
    if (changes_.weight(code) > 0) return false;
  }
  uint32_t row = 0;
  if (find_joined(false, &row) || find_joined(true, &row)) return rows_[row].cause == Cause::kIdle;
  return waiting_[static_cast<int>(Waits::kOutside)] > 0;
}

double LossAccount::take_phases(double idle) {
  double left = 1;
  const auto take = [&](SpanCode code) {
    const double part = std::min(left, changes_.weight(code));
    left -= part;
    return idle * part;
  };
  split_.pause = take(SpanCode::kGcPause);
  split_.safepoint = take(SpanCode::kSafepoint);
  split_.startup = take(SpanCode::kStartup);
  split_.shutdown = take(SpanCode::kShutdown);
  return std::max(0.0, idle - split_.pause - split_.safepoint - split_.startup - split_.shutdown);
}

void LossAccount::give_to_waiters(double idle) {
  const auto waiting = [&](Waits waits) { return static_cast<double>(waiting_[static_cast<int>(waits)]); };
  const auto rate = [&](Waits waits) -> double& { return rates_.per_waiter[static_cast<int>(waits)]; };
  if (!(idle > 0)) return;
  const double directed = waiting(Waits::kDirected);
  if (directed > 0) {
    // Where nobody has anything to do, those who wait are the reason for all of it.
    const bool is_for_them = active_ == 0 || idle <= directed;
    rate(Waits::kDirected) = is_for_them ? idle / directed : 1.0;
    if (is_for_them) return;
    idle -= directed;
  }
  if (active_ == 0 && !find_joined(false, &split_.rest_row) && !find_joined(true, &split_.rest_row)) {
    for (const Waits waits : {Waits::kOutside, Waits::kBackground, Waits::kIdle}) {
      if (waiting(waits) == 0) continue;
      rate(waits) = idle / waiting(waits);
      return;
    }
    split_.rest_row = unknown_row_;
  } else if (active_ > 0) {
    split_.rest_row = rest_row();
  }
  split_.rest = idle;
}

// There is work, though not for all cores: whose fault is it?
uint32_t LossAccount::rest_row() {
  uint32_t row = 0;
  const bool is_joined = find_joined(false, &row);
  if (is_joined && rows_[row].cause != Cause::kFew) return row;
  if (!longest_starved_.empty()) return threads_[longest_starved_.begin()->second].row;
  if (is_joined) return row;
  if (active_ > 1) return few_row_;
  uint32_t& alone = serial_rows_[active_xor_];
  if (alone == UINT32_MAX) alone = rows_.number({-1, static_cast<int32_t>(active_xor_), Cause::kSerial});
  return alone;
}

// The threads that have waited for another one the longest know best what all wait for; that there are too few tasks is
// said only if none of them knows more. Watchers are asked only where nobody has anything to do: that who started them
// works is no reason that there is not more to do.
bool LossAccount::find_joined(bool includes_background, uint32_t* row) {
  int tried = 0;
  bool is_found = false;
  for (const auto& [is_watcher, start_ns, thread] : joiners_) {
    if (++tried > kJoinersTried || (is_watcher && active_ > 0)) break;
    uint32_t found = 0;
    if (!follow(thread, includes_background, &found)) continue;
    const bool is_few = rows_[found].cause == Cause::kFew;
    if (!is_few || !is_found) *row = found;
    is_found = true;
    if (!is_few) break;
  }
  return is_found;
}

// From a thread that waits for another one to what that one waits for, and so on.
bool LossAccount::follow(uint32_t thread, bool includes_background, uint32_t* row) {
  *row = threads_[thread].row;
  for (int hop = 0; hop < kHops; ++hop) {
    const Thread& target = threads_[static_cast<size_t>(rows_[*row].thread)];
    if (target.level >= Level::kRunnable) return true;
    if (!target.is_waiting) return target.is_virtual;  // without a wait a virtual thread is at work, or wants to be
    if (!joins(target)) {
      *row = target.row;
      return target.waits == Waits::kDirected || includes_background;
    }
    *row = target.row;
  }
  *row = unknown_row_;  // they wait for each other
  return true;
}

bool LossAccount::joins(const Thread& t) const { return t.role == Role::kJoins && !(t.is_watcher && active_ > 0); }

// To add nothing is quicker than to ask whether there is something.
void LossAccount::pay(double dur) {
  ledger_.pass(rates_, dur);
  const bool is_throttled = changes_.is_in(SpanCode::kThrottled);
  ledger_.charge_now(is_throttled ? quota_row_ : ready_row_, is_throttled ? Cause::kQuota : Cause::kScheduler,
                     split_.ready * dur);
  if (split_.is_in_spans) pay_spans(dur);
  ledger_.charge_now(split_.rest_row, split_.rest_cause, split_.rest * dur);
}

void LossAccount::pay_spans(double dur) {
  ledger_.charge_now(unknown_row_, Cause::kUnknown, split_.unknown * dur);
  ledger_.charge_now(pause_row_, Cause::kGc, split_.pause * dur);
  ledger_.charge_now(safepoint_row_, Cause::kSafepoint, split_.safepoint * dur);
  ledger_.charge_now(startup_row_, Cause::kStart, split_.startup * dur);
  ledger_.charge_now(shutdown_row_, Cause::kEnd, split_.shutdown * dur);
}

void LossAccount::probe(size_t at) {
  const int32_t who = probes_.thread[at];
  if (who < 0 || static_cast<size_t>(who) >= threads_.size()) return;
  const auto thread = static_cast<uint32_t>(who);
  const Thread& t = threads_[thread];
  ProbeResult& result = probe_results_[at];
  result.directed = static_cast<double>(directed_on_[thread]) * rates_.per_waiter[static_cast<int>(Waits::kDirected)];
  const bool is_active = t.level >= Level::kRunnable && t.kind == kAppKind;
  if (split_.rest > 0) {
    const LossRow& row = rows_[split_.rest_row];
    if (row.cause == Cause::kFew) {
      if (is_active) result.undirected += split_.rest / static_cast<double>(active_);
    } else if (row.thread == who) {
      (row.cause == Cause::kSerial ? result.undirected : result.directed) += split_.rest;
    }
  }
  // In a pause the collector's threads are what the others wait for, at the start and at the end whoever is at work.
  if (t.kind == kGcKind && t.level == Level::kRunning) {
    result.directed += split_.pause / static_cast<double>(running_[kGcKind]);
  }
  if (t.kind == kVmKind && t.level == Level::kRunning) {
    result.directed += split_.safepoint / static_cast<double>(running_[kVmKind]);
  }
  if (is_active) result.undirected += (split_.startup + split_.shutdown) / static_cast<double>(active_);
}

}  // namespace headway
