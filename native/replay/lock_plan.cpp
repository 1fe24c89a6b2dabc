#include "replay/lock_plan.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <tuple>
#include <utility>

namespace headway {
namespace {

struct Planned {
  StepPoint asked;
  StepPoint got;
  StepPoint released;
};

bool is_before(const StepPoint& a, const StepPoint& b) {
  return std::tuple(a.step, a.after_ns) < std::tuple(b.step, b.after_ns);
}

bool find_points(const RunSteps& run, const Acquisition& each, Planned& found) {
  if (!run.find_last(each.thread, each.asked_ns, found.asked)) return false;
  run.find_last(each.thread, each.got_ns, found.got);
  run.find_last(each.thread, each.released_ns, found.released);
  if (is_before(found.got, found.asked)) found.got = found.asked;
  if (is_before(found.released, found.got)) found.released = found.got;
  return true;
}

// What a thread does of its own accord in a step before a point: it computes, sleeps, waits for I/O or for what nobody of the
// run ends.
double own_wait_ns(const Step& step) {
  const bool is_own = step.wait != StepWait::kThread && step.wait != StepWait::kNone;
  return is_own ? static_cast<double>(step.waited_ns()) : 0.0;
}

// The release after a part of what was done with the lock in hand.
StepSignal release_after(const RunSteps& run, const std::vector<uint8_t>& is_decided, const Planned& planned,
                         double part, uint32_t lock) {
  StepSignal signal{planned.released.step, lock, planned.released.after_ns, StepSignal::kReleases};
  if (part >= 1) return signal;
  const auto& steps = run.steps();
  const auto waited = [&](uint32_t step) { return is_decided[step] != 0 ? 0.0 : own_wait_ns(steps[step]); };
  const auto ran = [&](uint32_t step) {
    const int64_t from = step == planned.got.step ? planned.got.after_ns : 0;
    const int64_t to = step == planned.released.step ? planned.released.after_ns : steps[step].running_ns();
    return static_cast<double>(std::max<int64_t>(to - from, 0));
  };
  double all_ns = 0;
  for (uint32_t step = planned.got.step; step <= planned.released.step; ++step) {
    all_ns += ran(step) + (step > planned.got.step ? waited(step) : 0.0);
  }
  double left_ns = all_ns * part;
  for (uint32_t step = planned.got.step; step <= planned.released.step; ++step) {
    const double wait_ns = step > planned.got.step ? waited(step) : 0.0;
    if (left_ns < wait_ns) return {step, lock, static_cast<int64_t>(left_ns), StepSignal::kReleasesInWait};
    left_ns -= wait_ns;
    if (left_ns <= ran(step)) {
      const int64_t from = step == planned.got.step ? planned.got.after_ns : 0;
      return {step, lock, from + static_cast<int64_t>(left_ns), StepSignal::kReleases};
    }
    left_ns -= ran(step);
  }
  return signal;
}

constexpr size_t kMostLooks = 64;

// By lock: of the releases that somebody waited for, after how many a thread got it that had not waited.
std::vector<double> barging(const std::vector<Acquisition>& acquired, const std::vector<LockChange>& changes) {
  std::vector<double> contested(changes.size()), barged(changes.size()), found;
  for (size_t i = 0; i + 1 < acquired.size(); ++i) {
    const Acquisition &each = acquired[i], &next = acquired[i + 1];
    if (each.lock != next.lock || static_cast<size_t>(each.lock) >= changes.size()) continue;
    bool is_waited_for = false;
    const size_t end = std::min(acquired.size(), i + 1 + kMostLooks);
    for (size_t j = i + 1; j < end && acquired[j].lock == each.lock && !is_waited_for; ++j) {
      is_waited_for = acquired[j].asked_ns < each.released_ns && acquired[j].thread != each.thread;
    }
    if (!is_waited_for) continue;
    contested[static_cast<size_t>(each.lock)] += 1;
    if (next.asked_ns >= each.released_ns) barged[static_cast<size_t>(each.lock)] += 1;
  }
  for (size_t lock = 0; lock < changes.size(); ++lock) {
    const double share = contested[lock] > 0 ? barged[lock] / contested[lock] : 1.0;
    found.push_back(changes[lock].is_fair ? 0.0 : share);
  }
  return found;
}

auto place_of(const StepSignal& signal) {
  return std::tuple(signal.step, signal.what == StepSignal::kReleasesInWait ? 0 : 1, signal.after_ns);
}

}  // namespace

LockPlan plan_locks(const RunSteps& run, const std::vector<Acquisition>& acquired,
                    const std::vector<LockChange>& changes, uint64_t seed) {
  LockPlan plan;
  plan.is_decided.assign(run.steps().size(), 0);
  plan.seed = seed;
  const std::vector<double> share = barging(acquired, changes);
  std::vector<uint32_t> first;
  for (size_t lock = 0; lock < changes.size(); ++lock) {
    first.push_back(static_cast<uint32_t>(plan.locks()));
    for (int32_t i = 0; i < std::max(changes[lock].parts, 1); ++i) {
      plan.barging.push_back(share[lock]);
      plan.origin.push_back(static_cast<int32_t>(lock));
    }
  }
  std::mt19937_64 random(seed);
  std::vector<std::pair<Planned, const Acquisition*>> planned;
  double late_ns = 0;
  size_t late = 0;
  for (const Acquisition& each : acquired) {
    Planned found;
    if (static_cast<size_t>(each.lock) >= changes.size() || !find_points(run, each, found)) continue;
    for (uint32_t step = found.asked.step + 1; step <= found.got.step; ++step) {
      plan.is_decided[step] = 1;
      if (run.steps()[step].waited_ns() <= 0) continue;
      late_ns += static_cast<double>(run.steps()[step].delay_ns);
      ++late;
    }
    planned.emplace_back(found, &each);
  }
  if (late > 0) plan.waking_ns = late_ns / static_cast<double>(late);
  // Of one thread in the order in which it did so: a release before the next one is asked for, at one point of its work, too.
  std::stable_sort(planned.begin(), planned.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->thread, a.second->asked_ns) < std::pair(b.second->thread, b.second->asked_ns);
  });
  std::vector<StepSignal> signals;
  for (const auto& [points, each] : planned) {
    const LockChange& change = changes[static_cast<size_t>(each->lock)];
    const auto parts = static_cast<uint64_t>(std::max(change.parts, 1));
    const auto lock = first[static_cast<size_t>(each->lock)] + static_cast<uint32_t>(random() % parts);
    if (change.is_gone) continue;
    signals.push_back({points.asked.step, lock, points.asked.after_ns, StepSignal::kAcquires});
    signals.push_back(release_after(run, plan.is_decided, points, change.held_part, lock));
  }
  const auto order = [](const StepSignal& a, const StepSignal& b) { return place_of(a) < place_of(b); };
  std::stable_sort(signals.begin(), signals.end(), order);
  plan.signals.reserve(run.signals().size() + signals.size());
  std::merge(run.signals().begin(), run.signals().end(), signals.begin(), signals.end(),
             std::back_inserter(plan.signals), order);
  return plan;
}

}  // namespace headway
