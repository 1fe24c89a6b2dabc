#include "replay/core_replay.h"

#include <algorithm>
#include <queue>

#include "replay/core_sharing.h"
#include "replay/ended_waits.h"
#include "replay/replayed_locks.h"
#include "replay/replayed_pools.h"

namespace headway {
namespace {

constexpr size_t kMostForced = 10'000;
constexpr uint8_t kEnded = 1, kSkipped = 2;  // a wait that a change ended before the other thread came there

struct Cursor {
  uint32_t step = 0;
  uint32_t end = 0;
  uint32_t signal = 0;  // the next one that it sends
  double done_ns = 0;   // of the step's work, when it has done what it does now
  uint32_t timer = 0;   // number of the timer that it waits for
  bool is_waiting = false;
  bool is_computing = false;
  bool is_idle = false;    // and whoever has work for it ends that
  bool is_asking = false;  // for a lock that another thread has, or for one of a pool's workers
};

// A run while it is replayed. Its threads are numbered from `offset` on, its groups from `group` on: first one for what
// is never stopped, then one for each process.
struct Progress {
  const RunSteps* steps = nullptr;
  int32_t last = -1;
  uint32_t offset = 0;
  size_t group = 0;
  size_t groups = 0;
  size_t left = 0;  // threads whose end the run's end waits for
  bool is_done = false;
  std::vector<uint8_t> is_ended;  // by step: kEnded where its wait is over
  size_t ahead = 0;               // waits that are kSkipped
  std::vector<Cursor> cursors;
  const std::vector<StepSignal>* signals = nullptr;
  const LockPlan* plan = nullptr;
  const StepChanges* changed = nullptr;
  ReplayTimeline* timeline = nullptr;
  ReplayedLocks locks;
  ReplayedPools pools;
  std::vector<uint32_t> missing;  // by step: how many signals its wait is not over with; empty: none needs several
  Replayed found;

  bool is_decided(uint32_t step) const { return plan != nullptr && plan->is_decided[step] != 0; }
  // The next signal of a thread in the step that it is in.
  const StepSignal* next(const Cursor& cursor) const {
    const bool is_one = cursor.signal < signals->size() && (*signals)[cursor.signal].step == cursor.step;
    return is_one ? &(*signals)[cursor.signal] : nullptr;
  }
};

bool is_program(const RunSteps& steps, size_t thread) {
  return steps.threads().role[thread] == static_cast<uint8_t>(ThreadRole::kProgram);
}

class CoreReplay {
 public:
  CoreReplay(const std::vector<ReplayRun>& runs, const ReplayChanges& changes)
      : changes_(changes), runs_(runs.size()), sharing_(changes.cores, groups_of(runs), changes.pairs) {
    size_t group = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      Progress& run = runs_[i];
      run.steps = runs[i].steps;
      run.last = runs[i].last;
      run.plan = runs[i].plan;
      run.changed = runs[i].changed;
      run.timeline = runs[i].timeline;
      run.signals = run.plan != nullptr ? &run.plan->signals : &run.steps->signals();
      if (run.plan != nullptr) run.locks = ReplayedLocks(run.plan->barging, run.plan->seed);
      run.pools = ReplayedPools(runs[i].workers);
      run.missing = run.steps->further_signals();
      run.group = group;
      run.groups = groups_of({runs[i]});
      group += run.groups;
      run.offset = static_cast<uint32_t>(owner_.size());
      owner_.insert(owner_.end(), run.steps->threads().size(), static_cast<uint32_t>(i));
      set_up(run);
    }
  }

  std::vector<Replayed> replay() {
    for (Progress& run : runs_) {
      for (size_t thread = 0; thread < run.cursors.size(); ++thread) begin(run, static_cast<uint32_t>(thread));
      end_if_over(run);
    }
    while (open_ > 0 && step()) {
    }
    std::vector<Replayed> found;
    for (Progress& run : runs_) {
      run.found.lock_waits_ns = run.locks.waited_ns(now_ns_);
      found.push_back(run.found);
    }
    return found;
  }

 private:
  struct Timer {
    double ns;
    uint64_t order;
    uint32_t thread;
    uint32_t number;
    int32_t lock;  // that the thread releases then; -1: the thread goes on
    bool operator>(const Timer& other) const { return ns != other.ns ? ns > other.ns : order > other.order; }
  };

  static size_t groups_of(const std::vector<ReplayRun>& runs) {
    size_t groups = 0;
    for (const ReplayRun& run : runs) {
      int32_t most = -1;
      for (const int32_t process : run.steps->threads().process) most = std::max(most, process);
      groups += static_cast<size_t>(most + 2);
    }
    return groups;
  }

  void set_up(Progress& run) {
    const auto& first = run.steps->first();
    const auto& signals = *run.signals;
    run.is_ended.assign(run.steps->steps().size(), 0);
    run.cursors.resize(run.steps->threads().size());
    size_t signal = 0;
    for (size_t thread = 0; thread < run.cursors.size(); ++thread) {
      Cursor& cursor = run.cursors[thread];
      cursor.step = first[thread];
      cursor.end = first[thread + 1];
      while (signal < signals.size() && signals[signal].step < cursor.step) ++signal;
      cursor.signal = static_cast<uint32_t>(signal);
      if (cursor.step == cursor.end) continue;
      if (run.last < 0 ? is_program(*run.steps, thread) : static_cast<size_t>(run.last) == thread) ++run.left;
    }
    ++open_;
  }

  // One event; false: nothing happens any more.
  bool step() {
    const double work_ns = sharing_.next_ns();
    const double timer_ns = timers_.empty() ? -1.0 : std::max(timers_.top().ns - now_ns_, 0.0);
    if (work_ns < 0 && timer_ns < 0) return let_all_go();
    const bool is_timer = work_ns < 0 || (timer_ns >= 0 && timer_ns <= work_ns);
    const double ns = is_timer ? timer_ns : work_ns;
    count(ns);
    sharing_.advance(ns);
    now_ns_ += ns;
    if (is_timer) {
      const Timer timer = timers_.top();
      timers_.pop();
      take(timer);
    } else {
      const uint32_t thread = sharing_.take();
      Progress& run = runs_[owner_[thread]];
      if (!run.is_done) go_on(run, thread - run.offset);
    }
    return true;
  }

  void take(const Timer& timer) {
    Progress& run = runs_[owner_[timer.thread]];
    const uint32_t thread = timer.thread - run.offset;
    if (run.is_done) return;
    if (timer.lock >= 0) return release(run, thread, static_cast<uint32_t>(timer.lock));
    if (timer.number == run.cursors[thread].timer) go_on(run, thread);
  }

  void count(double ns) {
    const auto ready = static_cast<double>(sharing_.ready());
    for (Progress& run : runs_) {
      if (run.is_done) continue;
      ReplayLevels& levels = run.found.levels;
      double& level = ready == 0                ? levels.none_ns
                      : ready > changes_.cores  ? levels.many_ns
                      : ready == changes_.cores ? levels.all_ns
                      : ready == 1              ? levels.one_ns
                                                : levels.few_ns;
      level += ns;
      const bool is_free = ready < changes_.cores;
      if (is_free) run.found.free_ns += ns;
      if (is_free && run.locks.waiting() > 0) run.found.lock_limited_ns += ns;
    }
  }

  // Who stands still for a collection that nobody can end goes on.
  bool let_all_go() {
    for (Progress& run : runs_) {
      for (size_t i = 1; i < run.groups && !run.is_done; ++i) let_go(run, static_cast<uint32_t>(i - 1));
    }
    return sharing_.ready() > 0 || end_first_wait();
  }

  // Threads that come to locks in another order may wait in a circle: one that has a lock, for a thread that would need it
  // before. In the run that one did not have to: what was recorded as the order of two threads was none that they needed.
  // So the wait that was over first is over.
  bool end_first_wait() {
    if (!knows_waits_) note_waits();
    for (; !waits_.empty(); waits_.pop()) {
      const EndedWait& first = waits_.top();
      Progress& run = runs_[owner_[first.thread]];
      const uint32_t thread = first.thread - run.offset;
      Cursor& cursor = run.cursors[thread];
      const bool goes_on = !run.is_done && cursor.is_waiting && cursor.step == first.step;
      if (!goes_on || run.found.forced == kMostForced) continue;
      ++run.found.forced;
      run.is_ended[cursor.step] = kEnded;
      cursor.is_waiting = false;
      go_on_after(run, thread, 0, 0);
      return true;
    }
    return false;
  }

  // From the first circle on the waits are kept in order: to look through all threads for each circle may take hours.
  void note_waits() {
    knows_waits_ = true;
    for (Progress& run : runs_) {
      for (uint32_t thread = 0; thread < run.cursors.size(); ++thread) note_wait(run, thread);
    }
  }

  void note_wait(const Progress& run, uint32_t thread) {
    const Cursor& cursor = run.cursors[thread];
    const bool may_go = run.plan != nullptr || run.steps->pools() > 0;  // what was in order may not be any more
    if (!knows_waits_ || !may_go || run.is_done || !cursor.is_waiting) return;
    waits_.push({at(run, thread).woken_ns - run.steps->from_ns(), run.offset + thread, cursor.step});
  }

  const Step& at(const Progress& run, uint32_t thread) const { return run.steps->steps()[run.cursors[thread].step]; }

  // How long after its wait a thread is ready to run: what waking takes. What the machine was slower is core time.
  double delay(const Progress& run, const Step& step) const {
    if (changes_.has_stolen || step.waited_ns() == 0) return 0;
    return static_cast<double>(std::min(step.delay_ns, run.steps->waking_ns())) * changes_.waking_factor;
  }

  double work(const Progress& run, uint32_t thread) const {
    const Step& step = at(run, thread);
    if (step.is_collecting && !changes_.has_collections) return 0;
    // How late it was after a wait for a lock is in how long its next owner takes to wake up.
    const int64_t lost_ns = run.is_decided(run.cursors[thread].step) && step.waited_ns() > 0 ? 0 : step.lost_ns;
    const int64_t ns = step.running_ns() + (changes_.has_stolen ? lost_ns : -step.stolen_ns);
    const bool is_changed = run.changed != nullptr && !run.changed->work_factor.empty();
    const double factor = is_changed ? run.changed->work_factor[run.cursors[thread].step] : 1.0;
    return static_cast<double>(ns) * changes_.work_factor * factor;
  }

  // Negative: it is not changed.
  static double changed_wait_ns(const Progress& run, uint32_t step) {
    const bool is_changed = run.changed != nullptr && !run.changed->wait_ns.empty();
    return is_changed ? run.changed->wait_ns[step] : -1.0;
  }

  double wait_ns(const Progress& run, uint32_t thread) const {
    const Step& step = at(run, thread);
    if (step.is_collecting && !changes_.has_collections) return 0;
    if (const double ns = changed_wait_ns(run, run.cursors[thread].step); ns >= 0) return ns;
    return static_cast<double>(step.waited_ns()) * (step.wait == StepWait::kIo ? changes_.io_factor : 1.0);
  }

  void timer(Progress& run, uint32_t thread, double ns) {
    timers_.push({now_ns_ + ns, order_++, run.offset + thread, ++run.cursors[thread].timer, -1});
  }

  // The wait of a thread is over after some time, and it runs, or wants to, a delay later.
  void go_on_after(Progress& run, uint32_t thread, double ns, double delay_ns) {
    if (run.timeline != nullptr) run.timeline->is_woken(thread, now_ns_ + ns);
    timer(run, thread, ns + delay_ns);
  }

  // A thread comes to the first of its steps; what it did before the recording lasts as long as it lasted.
  void begin(Progress& run, uint32_t thread) {
    const Cursor& cursor = run.cursors[thread];
    if (cursor.step == cursor.end) return;
    const Step& step = at(run, thread);
    const auto before_ns = static_cast<double>(step.begin_ns - run.steps->from_ns());
    if (step.wait == StepWait::kThread || before_ns <= 0) return wait(run, thread);
    if (run.timeline != nullptr) run.timeline->waits(thread, cursor.step, before_ns);
    go_on_after(run, thread, before_ns + wait_ns(run, thread), delay(run, step));
  }

  void wait(Progress& run, uint32_t thread) {
    Cursor& cursor = run.cursors[thread];
    const Step& step = at(run, thread);
    if (run.timeline != nullptr) run.timeline->waits(thread, cursor.step, now_ns_);
    release_in_wait(run, thread);
    if (run.is_decided(cursor.step) || (step.is_lock && !changes_.has_lock_waits)) return compute(run, thread);
    if (is_inside(run, thread) && run.is_ended[cursor.step] == 0) {
      cursor.is_waiting = true;
      return go_on_after(run, thread, wait_ns(run, thread) * changes_.work_factor, delay(run, step));
    }
    switch (step.wait) {
      case StepWait::kThread:
        if (run.is_ended[cursor.step] != 0) return compute(run, thread);
        if (const double ns = changed_wait_ns(run, cursor.step); ns >= 0) {
          run.is_ended[cursor.step] = kSkipped;
          run.found.most_ahead = std::max(run.found.most_ahead, ++run.ahead);
          return go_on_after(run, thread, ns, 0);
        }
        cursor.is_waiting = true;
        return note_wait(run, thread);
      case StepWait::kNone:
        return compute(run, thread);
      default: {
        const uint32_t next = run.steps->next_wait()[cursor.step];
        cursor.is_idle = run.steps->is_idle(cursor.step);
        const bool has_work = cursor.is_idle && next < cursor.end && run.is_ended[next] != 0;
        go_on_after(run, thread, has_work ? 0 : wait_ns(run, thread), has_work ? 0 : delay(run, step));
      }
    }
  }

  // Locks that it releases while it waits; at once where it waits for another thread, as nobody knows for how long.
  void release_in_wait(Progress& run, uint32_t thread) {
    Cursor& cursor = run.cursors[thread];
    const Step& step = at(run, thread);
    for (const StepSignal* next = run.next(cursor); next != nullptr && next->what == StepSignal::kReleasesInWait;
         next = run.next(cursor)) {
      ++cursor.signal;
      const double part =
          static_cast<double>(next->after_ns) / static_cast<double>(std::max<int64_t>(step.waited_ns(), 1));
      const double ns = step.wait == StepWait::kThread ? 0.0 : wait_ns(run, thread) * part;
      timers_.push({now_ns_ + ns, order_++, run.offset + thread, 0, static_cast<int32_t>(next->target)});
    }
  }

  // A thread waits for a compiler, or another one of the JVM's, or inside the JVM or the kernel for one of the program's: mostly
  // for a lock in there, seldom for what that one does. Threads come there in another order as soon as times change, and that one
  // may be far behind. So it waits as long as it did, or until that one has come there. The start of a thread is no such wait.
  bool is_inside(const Progress& run, uint32_t thread) const {
    const Step& step = at(run, thread);
    if (step.wait != StepWait::kThread || run.cursors[thread].step == run.steps->first()[thread]) return false;
    const bool may_wait =
        is_program(*run.steps, thread) || run.steps->has_role(static_cast<int32_t>(thread), ThreadRole::kOther);
    return step.is_inside || (may_wait && run.steps->has_role(step.waker, ThreadRole::kOther));
  }

  // Computes up to the next signal, or to the end of the step.
  void compute(Progress& run, uint32_t thread) {
    Cursor& cursor = run.cursors[thread];
    const Step& step = at(run, thread);
    if (run.timeline != nullptr) run.timeline->runs(thread, now_ns_);
    const double all_ns = work(run, thread);
    double until_ns = all_ns;
    if (const StepSignal* next = run.next(cursor)) {
      const auto running = static_cast<double>(std::max<int64_t>(step.running_ns(), 1));
      until_ns = all_ns * (static_cast<double>(next->after_ns) / running);
    }
    const double ns = std::max(until_ns - cursor.done_ns, 0.0);
    cursor.done_ns = std::max(until_ns, cursor.done_ns);
    cursor.is_computing = true;
    sharing_.add(group_of(run, thread), run.offset + thread, ns);
  }

  size_t group_of(const Progress& run, uint32_t thread) const {
    const int32_t process = run.steps->threads().process[thread];
    return is_program(*run.steps, thread) && process >= 0 ? run.group + static_cast<size_t>(process) + 1 : run.group;
  }

  // A timer is over, or work is done.
  void go_on(Progress& run, uint32_t thread) {
    Cursor& cursor = run.cursors[thread];
    cursor.is_idle = false;
    cursor.is_waiting = false;
    if (!cursor.is_computing && !cursor.is_asking) return compute(run, thread);
    cursor.is_computing = false;
    if (const StepSignal* next = run.next(cursor)) {
      if (next->what == StepSignal::kAcquires && !acquire(run, thread, next->target)) return;
      if (next->what == StepSignal::kTakesWorker && !take_worker(run, thread, next->target)) return;
      ++cursor.signal;
      if (next->what == StepSignal::kReleases)
        release(run, thread, next->target);
      else
        send(run, *next);
      return compute(run, thread);
    }
    cursor.done_ns = 0;
    if (run.timeline != nullptr) run.timeline->ends(thread, now_ns_);
    if (++cursor.step < cursor.end) return wait(run, thread);
    run.locks.release_all(thread, [&](uint32_t next) { wake(run, next, thread); });
    if (const int64_t next = run.pools.done(thread); next >= 0) timer(run, static_cast<uint32_t>(next), 0);
    const bool is_last = run.last < 0 ? is_program(*run.steps, thread) : static_cast<size_t>(run.last) == thread;
    if (is_last) --run.left;
    end_if_over(run);
  }

  // False: another thread has it, and this one waits.
  bool acquire(Progress& run, uint32_t thread, uint32_t lock) {
    Cursor& cursor = run.cursors[thread];
    cursor.is_asking = !run.locks.acquire(lock, thread, now_ns_);
    if (cursor.is_asking && run.timeline != nullptr) run.timeline->asks(thread, lock, run.locks.holder(lock), now_ns_);
    return !cursor.is_asking;
  }

  // False: all workers have other tasks.
  bool take_worker(Progress& run, uint32_t task, uint32_t pool) {
    run.cursors[task].is_asking = !run.pools.take(pool, task);
    return !run.cursors[task].is_asking;
  }

  void release(Progress& run, uint32_t thread, uint32_t lock) {
    const int32_t next = run.locks.release(lock, thread);
    if (next >= 0) wake(run, static_cast<uint32_t>(next), thread);
  }

  // A thread that waits for a lock tries to get it when it is awake. What it is late as others have the cores is core time, as
  // everywhere.
  void wake(Progress& run, uint32_t thread, uint32_t waker) {
    if (run.timeline != nullptr) run.timeline->is_woken_by(thread, waker, now_ns_);
    if (changes_.has_stolen) return sharing_.add(group_of(run, thread), run.offset + thread, run.plan->late_ns);
    timer(run, thread, static_cast<double>(run.steps->waking_ns()) * changes_.waking_factor);
  }

  void send(Progress& run, const StepSignal& signal) {
    if (signal.what == StepSignal::kEndsWait) {
      if (!run.missing.empty() && run.missing[signal.target] > 0) {
        --run.missing[signal.target];
        return;
      }
      if (run.is_ended[signal.target] == kSkipped) --run.ahead;
      run.is_ended[signal.target] = kEnded;
      const auto thread = static_cast<uint32_t>(run.steps->steps()[signal.target].thread);
      Cursor& cursor = run.cursors[thread];
      if (cursor.is_idle && run.steps->next_wait()[cursor.step] == signal.target) {
        cursor.is_idle = false;
        return go_on_after(run, thread, 0, delay(run, at(run, thread)));
      }
      if (!cursor.is_waiting || cursor.step != signal.target) return;
      cursor.is_waiting = false;
      go_on_after(run, thread, 0, delay(run, at(run, thread)));
    } else if (is_stop(signal) && changes_.has_collections) {
      signal.what == StepSignal::kStops ? stop(run, signal) : let_go(run, signal.target);
    }
  }

  static bool is_stop(const StepSignal& signal) {
    return signal.what == StepSignal::kStops || signal.what == StepSignal::kLetsGo;
  }

  void stop(Progress& run, const StepSignal& signal) {
    sharing_.stop(run.group + signal.target + 1);
    const int32_t vm_thread = run.steps->steps()[signal.step].thread;
    if (run.timeline != nullptr) run.timeline->stops(signal.target, vm_thread, now_ns_);
  }

  void let_go(Progress& run, uint32_t process) {
    sharing_.let_go(run.group + process + 1);
    if (run.timeline != nullptr) run.timeline->goes_on(process, now_ns_);
  }

  void end_if_over(Progress& run) {
    if (run.left > 0 || run.is_done) return;
    run.is_done = true;
    run.found.end_ns = now_ns_;
    if (run.timeline != nullptr) run.timeline->finish(now_ns_);
    for (size_t i = 0; i < run.groups; ++i) sharing_.remove_all(run.group + i);
    --open_;
  }

  const ReplayChanges& changes_;
  std::vector<Progress> runs_;
  CoreSharing sharing_;
  std::vector<uint32_t> owner_;  // the run of each thread
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  EndedWaits waits_;
  bool knows_waits_ = false;
  uint64_t order_ = 0;
  size_t open_ = 0;
  double now_ns_ = 0;
};

}  // namespace

std::vector<Replayed> replay_on_cores(const std::vector<ReplayRun>& runs, const ReplayChanges& changes) {
  return CoreReplay(runs, changes).replay();
}

}  // namespace headway
