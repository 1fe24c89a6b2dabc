#include "replay/run_steps.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <utility>

#include "wire/records.h"

namespace headway {
namespace {

constexpr int64_t kFarNs = int64_t{1} << 60;
constexpr int64_t kNearNs =
    2'000;  // a waking is recorded so near to the waker's slice, where clocks of two CPUs differ
constexpr int64_t kSampleNs = 1'000'000;  // a stack is taken in less

int64_t sound(int64_t ticks, int64_t tick_ns) {
  if (ticks <= 0 || tick_ns <= 0) return 0;
  return ticks > kFarNs / tick_ns ? kFarNs : ticks * tick_ns;
}

bool waits_for_time(const Step& step) { return step.blocked_in == HW_IN_SLEEP || step.blocked_in == HW_IN_TIMED_FUTEX; }

// In order of (vm_thread, start): several JVMs collect at once. Times that are none are moved to where they can be reckoned with.
RunStops by_thread(const RunStops& stops) {
  std::vector<size_t> order(stops.start_ns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(stops.vm_thread[a], stops.start_ns[a]) < std::pair(stops.vm_thread[b], stops.start_ns[b]);
  });
  RunStops sorted;
  for (const size_t row : order) {
    sorted.start_ns.push_back(std::clamp(stops.start_ns[row], -kFarNs, kFarNs));
    sorted.end_ns.push_back(std::clamp(stops.end_ns[row], -kFarNs, kFarNs));
    sorted.vm_thread.push_back(stops.vm_thread[row]);
  }
  return sorted;
}

// When a thread is woken in a step, begins to run in it, or ends it: each thread has these in order, so that a heap of one for each
// thread goes through all of them in the order of time.
struct StepEvent {
  enum What : uint8_t { kWoken, kStarts, kEnds };
  int64_t ns;
  uint32_t step;
  What what;
  bool operator>(const StepEvent& other) const { return ns > other.ns; }
};

// For how long, up to now, a core was free of the run's threads, and how much of one each of those had lost that were ready to run.
class FreeCores {
 public:
  explicit FreeCores(int64_t cores) : cores_(cores) {}

  struct Sums {
    double free_ns = 0;
    double lost_ns = 0;
  };

  const Sums& until(int64_t ns) {
    const auto length = static_cast<double>(ns - ns_);
    const auto free = static_cast<double>(std::max<int64_t>(cores_ - running_, 0));
    sums_.free_ns += free > 0 ? length : 0;
    if (ready_ > 0) sums_.lost_ns += std::min(1.0, free / static_cast<double>(ready_)) * length;
    ns_ = ns;
    return sums_;
  }
  void take(StepEvent::What what) {
    if (what != StepEvent::kEnds) ready_ += what == StepEvent::kWoken ? 1 : -1;
    if (what != StepEvent::kWoken) running_ += what == StepEvent::kStarts ? 1 : -1;
  }

 private:
  int64_t cores_;
  int64_t ns_ = 0;
  int64_t ready_ = 0;
  int64_t running_ = 0;
  Sums sums_;
};

}  // namespace

RunSteps::RunSteps(RunThreads threads, int64_t from_ns, int64_t to_ns, int64_t cores)
    : threads_(std::move(threads)), from_ns_(from_ns), to_ns_(std::max(from_ns, to_ns)), cores_(cores) {
  const size_t size = threads_.size();
  if (threads_.birth_ns.size() != size || threads_.parent.size() != size || threads_.process.size() != size) {
    throw std::invalid_argument("columns of different length");
  }
}

RunSteps::RunSteps(const RunSteps& like, RunThreads threads, std::vector<Step> steps, TaskSignals signals)
    : threads_(std::move(threads)),
      from_ns_(like.from_ns_),
      to_ns_(like.to_ns_),
      cores_(like.cores_),
      steps_(std::move(steps)),
      signals_(std::move(signals.all)),
      further_signals_(std::move(signals.further)),
      first_task_(like.threads_.size()),
      between_tasks_ns_(signals.between_ns),
      has_all_task_signals_(signals.has_all),
      knows_jvm_waits_(like.knows_jvm_waits_),
      waking_ns_(like.waking_ns_),
      lock_wait_ns_(like.lock_wait_ns_) {
  std::copy(std::begin(like.waited_ns_), std::end(like.waited_ns_), std::begin(waited_ns_));
  for (const StepSignal& each : signals_) {
    if (each.what == StepSignal::kTakesWorker) pools_ = std::max(pools_, size_t{each.target} + 1);
  }
  find_first_steps();
  find_next_waits();
}

bool RunSteps::batch(const StoredSlices& slices, const int16_t* tick_ns) {
  // Not twice as many as before: both are there while they are moved.
  const size_t wanted = std::min(steps_.size() + slices.rows, kMostSlices);
  if (wanted > steps_.capacity()) steps_.reserve(std::min(std::max(wanted, steps_.size() / 4 * 5), kMostSlices));
  for (size_t row = 0; row < slices.rows; ++row) {
    const int32_t thread = slices.thread_id[row];
    if (thread < 0 || static_cast<size_t>(thread) >= threads_.size()) continue;
    if (threads_.role[static_cast<size_t>(thread)] >= static_cast<uint8_t>(ThreadRole::kLeftOut)) continue;
    if (steps_.size() == kMostSlices) return false;
    const int64_t tick = tick_ns[row];
    Step step;
    step.flags = slices.flags[row];
    step.end_ns = sound(slices.end_ticks[row], tick);
    step.start_ns = step.end_ns - sound(slices.running_ticks[row], tick);
    step.woken_ns =
        step.start_ns - ((step.flags & kRunnableUnknown) != 0 ? 0 : sound(slices.runnable_ticks[row], tick));
    step.begin_ns = step.woken_ns - sound(slices.blocked_ticks[row], tick);
    if (step.end_ns <= from_ns_ || step.begin_ns >= to_ns_) continue;
    const bool knows_stolen = (step.flags & kStolenUnknown) == 0;
    const int64_t running_ns = step.running_ns();
    step.stolen_ns = knows_stolen ? std::min(sound(slices.stolen_ticks[row], tick), running_ns) : 0;
    for (int64_t* ns : {&step.begin_ns, &step.woken_ns, &step.start_ns, &step.end_ns}) {
      *ns = std::clamp(*ns, from_ns_, to_ns_);
    }
    step.stolen_ns = std::min(step.stolen_ns, step.running_ns());
    step.thread = thread;
    step.waker = slices.waker_id[row];
    step.blocked_in = slices.blocked_in != nullptr ? slices.blocked_in[row] : uint8_t{0};
    // What had not run again at the end of the span brings nothing about.
    const bool is_cut = (step.flags & kIsOpen) != 0 || step.start_ns == to_ns_;
    if (step.end_ns == step.start_ns && is_cut) continue;
    steps_.push_back(step);
  }
  return true;
}

void RunSteps::resolve(const RunStops& collections, const LockWaits& locks, const AnsweredReads& answered) {
  const size_t rows = collections.start_ns.size(), waits = locks.thread.size();
  if (collections.end_ns.size() != rows || collections.vm_thread.size() != rows || locks.start_ns.size() != waits ||
      locks.end_ns.size() != waits || answered.thread.size() != answered.woken_ns.size()) {
    throw std::invalid_argument("columns of different length");
  }
  const RunStops stops = by_thread(collections);
  order();
  join_sampled_waits();
  measure_delays();
  classify(stops, answered);
  join_children();
  mark_locks(locks);
  mark_jvm_waits();
  find_next_waits();
  for (size_t i = 0; i < stops.start_ns.size(); ++i) {
    const int32_t thread = stops.vm_thread[i];
    if (thread < 0 || static_cast<size_t>(thread) >= threads_.size() || stops.end_ns[i] <= stops.start_ns[i]) continue;
    if (threads_.process[static_cast<size_t>(thread)] < 0) continue;
    const auto process = static_cast<uint32_t>(threads_.process[static_cast<size_t>(thread)]);
    if (!signal(thread, all_stopped_ns(stops, i), process, StepSignal::kStops)) continue;
    if (!signal(thread, stops.end_ns[i], process, StepSignal::kLetsGo)) signals_.pop_back();
  }
  // Of one point: first whose wait is over, then stops in their order.
  std::stable_sort(signals_.begin(), signals_.end(), [](const StepSignal& a, const StepSignal& b) {
    return std::pair(a.step, a.after_ns) < std::pair(b.step, b.after_ns);
  });
}

// By thread, then time; times of a thread that run backwards are moved to where they fit.
void RunSteps::order() {
  std::sort(steps_.begin(), steps_.end(),
            [](const Step& a, const Step& b) { return std::pair(a.thread, a.end_ns) < std::pair(b.thread, b.end_ns); });
  for (size_t i = 1; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.thread != steps_[i - 1].thread) continue;
    const int64_t least = steps_[i - 1].end_ns;
    for (int64_t* ns : {&step.begin_ns, &step.woken_ns, &step.start_ns, &step.end_ns}) *ns = std::max(*ns, least);
    step.stolen_ns = std::min(step.stolen_ns, step.running_ns());
  }
}

// A thread that headway's own woke, and that waits on at once in the same call, was sampled: what it ran for that is headway's.
// One that woke another thread meanwhile did something of its own: headway's threads end waits that are no samples, too.
void RunSteps::join_sampled_waits() {
  const std::vector<std::pair<int32_t, int64_t>> wakings = wakings_by_thread();
  const auto wakes = [&](const Step& step) {
    const auto found =
        std::lower_bound(wakings.begin(), wakings.end(), std::pair(step.thread, step.start_ns - kNearNs));
    return found != wakings.end() && found->first == step.thread && found->second <= step.end_ns + kNearNs;
  };
  std::vector<int64_t> unsure_ns(threads_.size());
  size_t kept = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const bool is_last = i + 1 == steps_.size() || steps_[i + 1].thread != step.thread;
    const bool is_by_headway =
        has_role(step.waker, ThreadRole::kLeftOut) && (step.flags & kWakerIrq) == 0 && step.waited_ns() > 0;
    const int64_t late_ns = step.start_ns - step.woken_ns;
    const bool is_late = is_by_headway && late_ns > kSampleNs;
    const bool was_sampled = is_by_headway && step.running_ns() <= (is_late ? kLookNs : kSampleNs);
    const bool goes_on = was_sampled && !is_last && steps_[i + 1].begin_ns == step.end_ns &&
                         steps_[i + 1].waited_ns() > 0 && steps_[i + 1].blocked_in == step.blocked_in && !wakes(step);
    if (is_late && waits_for_time(step)) {
      step.is_unsure = true;
      if (is_program(i)) unsure_ns[static_cast<size_t>(step.thread)] += late_ns;
    }
    if (goes_on) {
      steps_[i + 1].begin_ns = step.begin_ns;
      steps_[i + 1].is_unsure |= step.is_unsure;
    } else {
      steps_[kept++] = step;
    }
  }
  steps_.resize(kept);
  if (!unsure_ns.empty()) unsure_ns_ = *std::max_element(unsure_ns.begin(), unsure_ns.end());
  find_first_steps();
}

void RunSteps::find_first_steps() {
  first_.assign(threads_.size() + 1, 0);
  for (const Step& step : steps_) ++first_[static_cast<size_t>(step.thread) + 1];
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

// When threads woke others: (thread, time), in order. Empty where headway's own woke none: then nobody asks.
std::vector<std::pair<int32_t, int64_t>> RunSteps::wakings_by_thread() const {
  std::vector<std::pair<int32_t, int64_t>> found;
  const auto is_by_headway = [&](const Step& step) { return has_role(step.waker, ThreadRole::kLeftOut); };
  if (std::none_of(steps_.begin(), steps_.end(), is_by_headway)) return found;
  for (const Step& step : steps_) {
    const bool is_by_thread = step.waker >= 0 && step.waker != step.thread && (step.flags & kWakerIrq) == 0;
    if (is_by_thread && step.waited_ns() > 0) found.emplace_back(step.waker, step.woken_ns);
  }
  std::sort(found.begin(), found.end());
  return found;
}

void RunSteps::measure_delays() {
  std::vector<FreeCores::Sums> woken(threads_.size());  // by thread, as it was woken
  std::priority_queue<StepEvent, std::vector<StepEvent>, std::greater<>> events;
  for (size_t thread = 0; thread < threads_.size(); ++thread) {
    if (first_[thread] == first_[thread + 1]) continue;
    events.push({steps_[first_[thread]].woken_ns, first_[thread], StepEvent::kWoken});
  }
  FreeCores cores(cores_);
  std::vector<int64_t> after_waits;
  while (!events.empty()) {
    const StepEvent event = events.top();
    events.pop();
    Step& step = steps_[event.step];
    const auto thread = static_cast<size_t>(step.thread);
    const FreeCores::Sums& sums = cores.until(event.ns);
    cores.take(event.what);
    if (event.what == StepEvent::kWoken) {
      woken[thread] = sums;
      events.push({step.start_ns, event.step, StepEvent::kStarts});
    } else if (event.what == StepEvent::kStarts) {
      step.delay_ns = static_cast<int64_t>(sums.free_ns - woken[thread].free_ns);
      step.lost_ns = static_cast<int64_t>(sums.lost_ns - woken[thread].lost_ns);
      if (step.waited_ns() > 0 && step.delay_ns > 0) after_waits.push_back(step.delay_ns);
      events.push({step.end_ns, event.step, StepEvent::kEnds});
    } else if (event.step + 1 < first_[thread + 1]) {
      events.push({steps_[event.step + 1].woken_ns, event.step + 1, StepEvent::kWoken});
    }
  }
  if (after_waits.empty()) return;
  const auto quarter = after_waits.begin() + static_cast<std::ptrdiff_t>(after_waits.size() / 4);
  std::nth_element(after_waits.begin(), quarter, after_waits.end());
  waking_ns_ = *quarter;
}

bool RunSteps::has_role(int32_t thread, ThreadRole role) const {
  return thread >= 0 && static_cast<size_t>(thread) < threads_.size() &&
         threads_.role[static_cast<size_t>(thread)] == static_cast<uint8_t>(role);
}

bool RunSteps::is_program(size_t step) const {
  return threads_.role[static_cast<size_t>(steps_[step].thread)] == static_cast<uint8_t>(ThreadRole::kProgram);
}

bool RunSteps::find(int32_t thread, int64_t ns, StepPoint& point) const {
  if (thread < 0 || static_cast<size_t>(thread) >= threads_.size()) return false;
  const auto begin = steps_.begin() + first_[static_cast<size_t>(thread)];
  const auto end = steps_.begin() + first_[static_cast<size_t>(thread) + 1];
  auto found = std::upper_bound(begin, end, ns, [](int64_t a, const Step& b) { return a < b.start_ns; });
  if (found == begin) {
    if (found == end || found->start_ns - ns > kNearNs) return false;
  } else if (ns - (found - 1)->end_ns > kNearNs && found != end && found->start_ns - ns <= kNearNs) {
    // Nearer to the slice that follows.
  } else {
    --found;
    if (ns - found->end_ns > kNearNs) return false;
  }
  point.step = static_cast<uint32_t>(found - steps_.begin());
  point.after_ns = std::clamp<int64_t>(ns - found->start_ns, 0, found->running_ns());
  return true;
}

bool RunSteps::find_last(int32_t thread, int64_t ns, StepPoint& point) const {
  if (thread < 0 || static_cast<size_t>(thread) >= threads_.size()) return false;
  const uint32_t first = first_[static_cast<size_t>(thread)], end = first_[static_cast<size_t>(thread) + 1];
  if (first == end) return false;
  const auto found = std::upper_bound(steps_.begin() + first, steps_.begin() + end, ns,
                                      [](int64_t a, const Step& b) { return a < b.start_ns; });
  point.step = static_cast<uint32_t>(found - steps_.begin());
  const bool is_next = point.step < end && steps_[point.step].waited_ns() > 0 && steps_[point.step].woken_ns <= ns;
  if (point.step > first && !is_next) --point.step;
  const Step& step = steps_[point.step];
  point.after_ns = std::clamp<int64_t>(ns - step.start_ns, 0, step.running_ns());
  return true;
}

// Threads go on until they come to where they can be stopped, and the JVM's thread waits for the last of them: from then on
// they stand still. Stopped before, they would never come there.
int64_t RunSteps::all_stopped_ns(const RunStops& stops, size_t stop) const {
  const auto vm = static_cast<size_t>(stops.vm_thread[stop]);
  int64_t ns = stops.start_ns[stop];
  // A thread carries out one collection after the other, whatever the columns claim: so each step is looked at once.
  const bool has_next = stop + 1 < stops.start_ns.size() && stops.vm_thread[stop + 1] == stops.vm_thread[stop];
  const int64_t end_ns = has_next ? std::min(stops.end_ns[stop], stops.start_ns[stop + 1]) : stops.end_ns[stop];
  const auto begin = steps_.begin() + first_[vm], end = steps_.begin() + first_[vm + 1];
  auto at = std::upper_bound(begin, end, ns, [](int64_t a, const Step& b) { return a < b.woken_ns; });
  for (; at != end && at->woken_ns < end_ns; ++at) {
    const bool is_program = at->wait == StepWait::kThread && has_role(at->waker, ThreadRole::kProgram);
    if (is_program && at->start_ns < end_ns) ns = at->start_ns;
  }
  return ns;
}

// Whether the JVM's thread carried out a collection in a step.
bool RunSteps::is_collecting(const Step& step, const RunStops& stops) const {
  size_t from = 0, to = stops.start_ns.size();
  while (from < to) {
    const size_t at = from + (to - from) / 2;
    const bool is_before = std::pair(stops.vm_thread[at], stops.start_ns[at]) < std::pair(step.thread, step.end_ns);
    if (is_before) {
      from = at + 1;
    } else {
      to = at;
    }
  }
  return from > 0 && stops.vm_thread[from - 1] == step.thread && step.start_ns < stops.end_ns[from - 1];
}

}  // namespace headway
