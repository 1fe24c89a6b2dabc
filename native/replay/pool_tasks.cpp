#include "replay/pool_tasks.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

namespace headway {
namespace {

// Where a task begins in the steps of its thread: before a step, with its wait, or within what that runs.
struct Cut {
  uint32_t step;
  int64_t after_ns;
  bool is_whole;

  bool is_before(const Cut& other) const {
    return std::tuple(step, !is_whole, after_ns) < std::tuple(other.step, !other.is_whole, other.after_ns);
  }
};

// What a step became: the part of it that ends after `until_ns` of its running.
struct Part {
  uint32_t old_step;
  int64_t from_ns;
  int64_t until_ns;
  uint32_t step;
};

// The last step of a task, and when that ended.
struct End {
  int32_t pool;
  int64_t ns;
  uint32_t step;

  bool operator<(const End& other) const {
    return std::tuple(pool, ns, step) < std::tuple(other.pool, other.ns, other.step);
  }
};

constexpr uint32_t kStartSteps = 4;
constexpr size_t kMostJoined = 5'000'000;  // many threads may wait for all of many tasks

class TaskRun {
 public:
  TaskRun(const RunSteps& run, const PoolTasks& tasks, const PoolJoins& joins)
      : run_(run), tasks_(tasks), joins_(joins), threads_(run.threads()) {}

  RunSteps make() {
    find_cuts();
    add_others();
    // Those of one time of submission are taken in the order in which they began.
    std::vector<size_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [this](size_t a, size_t b) { return tasks_.begin_ns[a] < tasks_.begin_ns[b]; });
    for (const size_t task : order) add_task(task);
    add_signals();
    add_joins();
    std::stable_sort(signals_.begin(), signals_.end(), [](const StepSignal& a, const StepSignal& b) {
      return std::pair(a.step, a.after_ns) < std::pair(b.step, b.after_ns);
    });
    return {run_,
            std::move(threads_),
            std::move(steps_),
            {std::move(signals_), std::move(further_), between_ns_, has_all_}};
  }

 private:
  uint32_t first(int32_t thread) const { return run_.first()[static_cast<size_t>(thread)]; }
  uint32_t end(int32_t thread) const { return run_.first()[static_cast<size_t>(thread) + 1]; }

  void find_cuts() {
    is_worker_.assign(run_.threads().size(), 0);
    start_up_.assign(run_.threads().size(), 0);
    for (size_t task = 0; task < tasks_.size(); ++task) {
      const int32_t thread = tasks_.thread[task];
      const bool is_first = is_worker_[static_cast<size_t>(thread)] == 0;
      is_worker_[static_cast<size_t>(thread)] = tasks_.pool[task] + 1;
      Cut cut = is_first ? Cut{first(thread), 0, true} : cut_at(thread, tasks_.begin_ns[task]);
      if (!is_first && cut.is_before(cuts_.back())) cut = cuts_.back();
      if (is_first) start_up_[static_cast<size_t>(thread)] = start_up(task);
      const uint32_t asks_at = first(thread) + start_up_[static_cast<size_t>(thread)];
      const bool is_no_task_yet = cut.step < asks_at || (cut.step == asks_at && cut.is_whole);
      if (is_no_task_yet) cut = {first(thread), 0, true};
      cuts_.push_back(cut);
    }
  }

  Cut cut_at(int32_t thread, int64_t ns) const {
    const auto begin = run_.steps().begin() + first(thread), last = run_.steps().begin() + end(thread);
    const auto found = std::upper_bound(begin, last, ns, [](int64_t a, const Step& b) { return a < b.end_ns; });
    const auto step = static_cast<uint32_t>(found - run_.steps().begin());
    if (found == last || ns <= found->woken_ns) return {step, 0, true};
    return {step, std::max<int64_t>(ns - found->start_ns, 0), false};
  }

  void add_others() {
    new_step_.resize(run_.steps().size());
    for (size_t i = 0; i < run_.steps().size(); ++i) {
      const Step& step = run_.steps()[i];
      if (is_worker_[static_cast<size_t>(step.thread)] != 0) continue;
      new_step_[i] = static_cast<uint32_t>(steps_.size());
      steps_.push_back(step);
    }
  }

  // The cut at which a task ends: where the next one of its thread begins.
  Cut end_of(size_t task) const {
    const bool is_last = task + 1 == tasks_.size() || tasks_.thread[task + 1] != tasks_.thread[task];
    return is_last ? Cut{end(tasks_.thread[task]), 0, true} : cuts_[task + 1];
  }

  void add_task(size_t task) {
    const auto worker = static_cast<size_t>(tasks_.thread[task]);
    const auto thread = static_cast<int32_t>(threads_.size());
    const Cut from = cuts_[task], to = end_of(task);
    threads_.birth_ns.push_back(run_.threads().birth_ns[worker]);
    threads_.parent.push_back(-1);
    threads_.role.push_back(run_.threads().role[worker]);
    threads_.process.push_back(run_.threads().process[worker]);
    if (!from.is_before(to)) return;
    const bool has_wait = from.is_whole && (tasks_.has_wait[task] != 0 || from.step == first(tasks_.thread[task]));
    const auto first_step = static_cast<uint32_t>(steps_.size());
    if (!has_wait) add_submission(task, thread, from);
    const uint32_t started = from.step == first(tasks_.thread[task]) ? start_up_[worker] : 0;
    takes_.push_back({first_step + started, static_cast<uint32_t>(tasks_.pool[task]), 0, StepSignal::kTakesWorker});
    for (uint32_t i = from.step; i < to.step || (i == to.step && !to.is_whole); ++i) {
      const int64_t begin = i == from.step && !from.is_whole ? from.after_ns : 0;
      const int64_t until = i == to.step ? to.after_ns : run_.steps()[i].running_ns();
      add_part(i, thread, begin, until, i == from.step && !from.is_whole, has_wait && i == from.step);
    }
    ends_.push_back({tasks_.pool[task], steps_.back().end_ns, static_cast<uint32_t>(steps_.size() - 1)});
  }

  // After how many steps a thread that has been started asks for its first task: the one that starts it waits for it before.
  // That is before the thread waits for anything else, or for its second task.
  uint32_t start_up(size_t task) const {
    const int32_t thread = tasks_.thread[task], parent = run_.threads().parent[static_cast<size_t>(thread)];
    size_t second = task + 1;
    while (second < tasks_.size() && tasks_.thread[second] == thread && tasks_.has_wait[second] == 0) ++second;
    const bool has_second = second < tasks_.size() && tasks_.thread[second] == thread;
    const uint32_t until = has_second ? cut_at(thread, tasks_.begin_ns[second]).step : end(thread);
    uint32_t found = 0;
    for (uint32_t i = 1; i < kStartSteps && first(thread) + i < until; ++i) {
      const Step& step = run_.steps()[first(thread) + i];
      if (step.waited_ns() > 0 && (step.wait != StepWait::kThread || step.waker != parent)) break;
      if (step.wait == StepWait::kThread) found = i;
    }
    return found;
  }

  // A task that was in the queue begins with a wait until it is submitted, and for a worker.
  void add_submission(size_t task, int32_t thread, const Cut& from) {
    const Step& old = run_.steps()[from.step];
    const int64_t ns = from.is_whole ? old.begin_ns : old.start_ns + from.after_ns;
    const int64_t submitted_ns = std::clamp(tasks_.submitted_ns[task], run_.from_ns(), std::max(ns, run_.from_ns()));
    Step step;
    step.thread = thread;
    step.begin_ns = step.woken_ns = step.start_ns = step.end_ns = submitted_ns;
    StepPoint at;
    if (run_.find_last(tasks_.submitter[task], submitted_ns, at)) {
      step.wait = StepWait::kThread;
      step.waker = tasks_.submitter[task];
      submissions_.push_back({at.step, static_cast<uint32_t>(steps_.size()), at.after_ns, StepSignal::kEndsWait});
    }
    steps_.push_back(step);
  }

  void add_part(uint32_t old_step, int32_t thread, int64_t begin, int64_t until, bool is_rest, bool is_first) {
    const Step& old = run_.steps()[old_step];
    Step step = old;
    step.thread = thread;
    const int64_t running = std::max<int64_t>(old.running_ns(), 1);
    step.stolen_ns = static_cast<int64_t>(static_cast<double>(old.stolen_ns) * static_cast<double>(until - begin) /
                                          static_cast<double>(running));
    step.end_ns = old.start_ns + until;
    if (is_rest) {
      step.begin_ns = step.woken_ns = step.start_ns = old.start_ns + begin;
      step.wait = StepWait::kNone;
      step.delay_ns = step.lost_ns = 0;
      step.is_lock = false;
    }
    if (!is_rest && !is_first && is_by_task(old)) {
      between_ns_ += old.waited_ns();
      step.wait = StepWait::kNone;
      step.begin_ns = step.woken_ns;
      step.is_lock = false;
    }
    parts_.push_back({old_step, begin, until, static_cast<uint32_t>(steps_.size())});
    steps_.push_back(step);
  }

  // Whether a worker of the same pool ended the wait of another one: in another order of tasks that is over at once, or never.
  bool is_by_task(const Step& step) const {
    const auto worker = static_cast<size_t>(step.thread), waker = static_cast<size_t>(step.waker);
    return step.wait == StepWait::kThread && waker < is_worker_.size() && is_worker_[waker] == is_worker_[worker];
  }

  // Where a point of a step is now.
  StepPoint moved(uint32_t step, int64_t after_ns) const {
    if (is_worker_[static_cast<size_t>(run_.steps()[step].thread)] == 0) return {new_step_[step], after_ns};
    auto found = std::lower_bound(
        parts_.begin(), parts_.end(), std::pair(step, after_ns),
        [](const Part& a, const std::pair<uint32_t, int64_t>& b) { return std::pair(a.old_step, a.until_ns) < b; });
    if (found == parts_.end() || found->old_step != step) --found;  // rounding: no step is without parts
    return {found->step, std::max<int64_t>(after_ns - found->from_ns, 0)};
  }

  void add(const StepSignal& signal, uint32_t target) {
    const StepPoint at = moved(signal.step, signal.after_ns);
    signals_.push_back({at.step, target, at.after_ns, signal.what});
  }

  void add_signals() {
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return std::tuple(a.old_step, a.until_ns, a.step) < std::tuple(b.old_step, b.until_ns, b.step);
    });
    signals_ = takes_;
    for (const StepSignal& each : run_.signals()) {
      const bool is_step = each.what == StepSignal::kEndsWait;
      add(each, is_step ? moved(each.target, 0).step : each.target);
    }
    for (const StepSignal& each : submissions_) add(each, each.target);
  }

  void add_joins() {
    further_.assign(steps_.size(), 0);
    for (uint32_t step = 0; step < run_.further_signals().size(); ++step) {
      if (run_.further_signals()[step] > 0) further_[moved(step, 0).step] += run_.further_signals()[step];
    }
    std::sort(ends_.begin(), ends_.end());
    for (size_t join = 0; join < joins_.size(); ++join) {
      const int32_t thread = joins_.thread[join];
      if (thread < 0 || static_cast<size_t>(thread) >= is_worker_.size() || first(thread) == end(thread)) continue;
      const Cut at = cut_at(thread, joins_.ns[join]);
      if (!at.is_whole || at.step == end(thread) || run_.steps()[at.step].wait != StepWait::kThread) continue;
      join_tasks(joins_.pool[join], joins_.since_ns[join], run_.steps()[at.step].woken_ns, moved(at.step, 0).step);
    }
  }

  // A wait is over when the tasks of a pool have ended that had ended between two times.
  void join_tasks(int32_t pool, int64_t since_ns, int64_t until_ns, uint32_t target) {
    const auto begin = std::upper_bound(ends_.begin(), ends_.end(), End{pool, since_ns, UINT32_MAX});
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), End{pool, until_ns, UINT32_MAX});
    for (auto each = begin; each < end; ++each) {
      if (joined_ == kMostJoined) has_all_ = false;
      if (!has_all_) return;
      if (steps_[each->step].thread == steps_[target].thread) continue;
      signals_.push_back({each->step, target, steps_[each->step].running_ns(), StepSignal::kEndsWait});
      ++further_[target];
      ++joined_;
    }
  }

  const RunSteps& run_;
  const PoolTasks& tasks_;
  const PoolJoins& joins_;
  RunThreads threads_;
  std::vector<int32_t> is_worker_;  // by thread: 1 + the pool that it works for, 0: none
  std::vector<uint32_t> start_up_;  // by thread, in steps
  std::vector<Cut> cuts_;
  std::vector<Step> steps_;
  std::vector<uint32_t> new_step_;  // of threads that are no workers
  std::vector<Part> parts_;
  std::vector<End> ends_;
  int64_t between_ns_ = 0;
  size_t joined_ = 0;
  bool has_all_ = true;
  std::vector<StepSignal> takes_;
  std::vector<StepSignal> submissions_;  // steps as they were, targets as they are
  std::vector<StepSignal> signals_;
  std::vector<uint32_t> further_;
};

}  // namespace

bool PoolTasks::is_sound() const {
  return begin_ns.size() == size() && pool.size() == size() && has_wait.size() == size() &&
         submitter.size() == size() && submitted_ns.size() == size();
}

bool PoolJoins::is_sound() const { return ns.size() == size() && since_ns.size() == size() && pool.size() == size(); }

RunSteps with_tasks(const RunSteps& run, const PoolTasks& tasks, const PoolJoins& joins) {
  return TaskRun(run, tasks, joins).make();
}

}  // namespace headway
