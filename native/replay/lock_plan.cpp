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

// How far threads are in what they do of their own accord at the begin of each step; each begins at 0. A step is its own wait,
// unless the replay decides how long that lasts, and then what it runs.
class Done {
 public:
  Done(const RunSteps& run, const std::vector<uint8_t>& is_decided) : run_(run), is_decided_(is_decided) {
    const auto& steps = run.steps();
    before_ns_.resize(steps.size());
    for (size_t i = 1; i < steps.size(); ++i) {
      if (steps[i].thread != steps[i - 1].thread) continue;
      before_ns_[i] = before_ns_[i - 1] + wait_ns(i - 1) + static_cast<double>(steps[i - 1].running_ns());
    }
  }

  double wait_ns(size_t step) const { return is_decided_[step] != 0 ? 0.0 : own_wait_ns(run_.steps()[step]); }
  double at(const StepPoint& point) const {
    return before_ns_[point.step] + wait_ns(point.step) + static_cast<double>(point.after_ns);
  }

  // The release after a part of what was done with the lock in hand.
  StepSignal release_after(const Planned& planned, double part, uint32_t lock) const {
    const StepSignal all{planned.released.step, lock, planned.released.after_ns, StepSignal::kReleases};
    if (part >= 1) return all;
    const double got_ns = at(planned.got), ns = got_ns + part * std::max(at(planned.released) - got_ns, 0.0);
    const auto first = before_ns_.begin() + planned.got.step;
    const auto after = std::upper_bound(first + 1, before_ns_.begin() + planned.released.step + 1, ns);
    const auto step = static_cast<uint32_t>(after - before_ns_.begin() - 1);
    const double in_step_ns = ns - before_ns_[step], waited_ns = wait_ns(step);
    if (step > planned.got.step && in_step_ns < waited_ns) {
      return {step, lock, static_cast<int64_t>(in_step_ns), StepSignal::kReleasesInWait};
    }
    const int64_t ran_ns = std::max<int64_t>(static_cast<int64_t>(in_step_ns - waited_ns), 0);
    return {step, lock, std::min(ran_ns, run_.steps()[step].running_ns()), StepSignal::kReleases};
  }

 private:
  const RunSteps& run_;
  const std::vector<uint8_t>& is_decided_;
  std::vector<double> before_ns_;
};

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

// The core time that threads lost, on average, which then found the lock free. Who took it before a thread came that had been
// woken for it did not wait for that one.
double mean_lost_ns(const RunSteps& run, const std::vector<std::pair<Planned, const Acquisition*>>& planned) {
  std::vector<uint32_t> got;  // each step once, however many waits end in it: damaged columns may have any number
  for (const auto& [points, each] : planned) {
    const bool has_waited = points.asked.step < points.got.step && run.steps()[points.got.step].waited_ns() > 0;
    if (has_waited) got.push_back(points.got.step);
  }
  std::sort(got.begin(), got.end());
  got.erase(std::unique(got.begin(), got.end()), got.end());
  double late_ns = 0;
  for (const uint32_t step : got) late_ns += static_cast<double>(run.steps()[step].lost_ns);
  return got.empty() ? 0.0 : late_ns / static_cast<double>(got.size());
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
  std::vector<int32_t> waits(run.steps().size() + 1);  // by step: how many begin there less those over before it
  for (const Acquisition& each : acquired) {
    Planned found;
    if (static_cast<size_t>(each.lock) >= changes.size() || !find_points(run, each, found)) continue;
    ++waits[found.asked.step + 1];
    --waits[found.got.step + 1];
    planned.emplace_back(found, &each);
  }
  int32_t open = 0;
  for (size_t step = 0; step < run.steps().size(); ++step) {
    open += waits[step];
    if (open > 0) plan.is_decided[step] = 1;
  }
  plan.late_ns = mean_lost_ns(run, planned);
  // Of one thread in the order in which it did so: a release before the next one is asked for, at one point of its work, too.
  std::stable_sort(planned.begin(), planned.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->thread, a.second->asked_ns) < std::pair(b.second->thread, b.second->asked_ns);
  });
  const Done done(run, plan.is_decided);
  std::vector<StepSignal> signals;
  for (const auto& [points, each] : planned) {
    const LockChange& change = changes[static_cast<size_t>(each->lock)];
    const auto parts = static_cast<uint64_t>(std::max(change.parts, 1));
    const auto lock = first[static_cast<size_t>(each->lock)] + static_cast<uint32_t>(random() % parts);
    if (change.is_removed) continue;
    signals.push_back({points.asked.step, lock, points.asked.after_ns, StepSignal::kAcquires});
    signals.push_back(done.release_after(points, change.held_part, lock));
  }
  const auto order = [](const StepSignal& a, const StepSignal& b) { return place_of(a) < place_of(b); };
  std::stable_sort(signals.begin(), signals.end(), order);
  plan.signals.reserve(run.signals().size() + signals.size());
  std::merge(run.signals().begin(), run.signals().end(), signals.begin(), signals.end(),
             std::back_inserter(plan.signals), order);
  return plan;
}

}  // namespace headway
