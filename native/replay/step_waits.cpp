// Who ended which wait of a run's steps, and which waits are one with the next.
#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "replay/run_steps.h"
#include "wire/records.h"

namespace headway {
namespace {

constexpr int64_t kAskedNs = 1'000'000;  // before it waits for what it asked for
constexpr ptrdiff_t kMostLooks = 256;
constexpr uint32_t kLastSteps = 3;  // a thread that ends may still wait for a lock of the JVM
// So does a poll in Java, not compiled yet, with its stack taken, before it waits for the same object: the JVM says that it does.
constexpr int64_t kLookAgainNs = 1'000'000;
constexpr int32_t kOutsideTree = -2;

StepWait wait_without_thread(const Step& step) {
  if ((step.flags & kBlockedStateMask) == kUninterruptible || step.blocked_in == HW_IN_NO_CALL) return StepWait::kIo;
  if (step.blocked_in >= HW_IN_POLL && step.blocked_in <= HW_IN_SOCKET) return StepWait::kIo;
  if (step.blocked_in == HW_IN_SLEEP) return StepWait::kSleep;
  if ((step.flags & kWakerIrq) != 0) return step.blocked_in == HW_IN_FUTEX ? StepWait::kUnknown : StepWait::kSleep;
  if (step.waker == kOutsideTree) return StepWait::kOutside;
  return step.blocked_in == HW_IN_TIMED_FUTEX ? StepWait::kSleep : StepWait::kUnknown;
}

// Whether a step waits for a lock inside the kernel: of the process's memory as it faults or maps, of a file as it writes. No
// signal ends such a wait; waits for what another thread does (a pipe, a child) are others.
bool is_for_kernel(const Step& step) {
  if (step.blocked_in == HW_IN_NO_CALL) return true;
  const bool may_be = step.blocked_in == HW_IN_OTHER || step.blocked_in == HW_IN_FILE;
  return may_be && (step.flags & kBlockedStateMask) == kUninterruptible;
}

// Whether the wait of a step is among some, asked in their order; `row` is the first that is not behind it.
bool is_in(const AnsweredReads& answered, const Step& step, size_t& row) {
  const auto key = std::pair(step.thread, step.woken_ns);
  while (row < answered.thread.size() && std::pair(answered.thread[row], answered.woken_ns[row]) < key) ++row;
  return row < answered.thread.size() && std::pair(answered.thread[row], answered.woken_ns[row]) == key;
}

}  // namespace

void RunSteps::classify(const RunStops& stops, const AnsweredReads& answered) {
  signal_starts_of_threads();
  size_t row = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const auto role = static_cast<ThreadRole>(threads_.role[static_cast<size_t>(step.thread)]);
    if (role == ThreadRole::kCollector) step.is_collecting = true;
    if (role == ThreadRole::kVm) step.is_collecting = is_collecting(step, stops);
    if (step.wait != StepWait::kNone || step.waited_ns() <= 0) continue;
    const bool is_answered = is_in(answered, step, row);
    const bool has_waker =
        step.waker >= 0 && step.waker != step.thread && ((step.flags & kWakerIrq) == 0 || is_answered);
    const bool may_be_stopped = role == ThreadRole::kProgram || (role == ThreadRole::kOther && begins_in_stop(step));
    if (may_be_stopped && has_waker && is_stopped(step)) continue;
    const bool is_found =
        has_waker && signal(step.waker, step.woken_ns, static_cast<uint32_t>(i), StepSignal::kEndsWait);
    step.wait = is_found ? StepWait::kThread : wait_without_thread(step);
    if (is_answered && !is_found) without_sender_ns_ += step.waited_ns();
    if (role == ThreadRole::kProgram) waited_ns_[static_cast<size_t>(step.wait)] += step.waited_ns();
  }
}

bool RunSteps::is_idle(size_t at) const {
  const Step& step = steps_[at];
  if (step.wait != StepWait::kSleep || step.blocked_in != HW_IN_TIMED_FUTEX) return false;
  if (static_cast<size_t>(step.thread) >= first_task_) return false;
  if (!is_program(at)) return true;
  if (at + 1 == steps_.size() || steps_[at + 1].thread != step.thread) return false;
  const Step& next = steps_[at + 1];
  const bool is_futex = next.blocked_in == HW_IN_FUTEX || next.blocked_in == HW_IN_TIMED_FUTEX;
  const bool is_same = !knows_jvm_waits_ || (step.blocker >= 0 && step.blocker == next.blocker);
  if (step.is_waker || !is_same) return false;
  const int64_t look_ns = knows_jvm_waits_ ? kLookAgainNs : kLookNs;
  return step.running_ns() - step.stolen_ns <= look_ns && next.waited_ns() > 0 && is_futex;
}

void RunSteps::mark_locks(const LockWaits& locks) {
  size_t row = 0;
  for (Step& step : steps_) {
    const auto is_before = [&](size_t i) {
      return std::pair(locks.thread[i], locks.end_ns[i]) <= std::pair(step.thread, step.begin_ns);
    };
    while (row < locks.thread.size() && is_before(row)) ++row;
    if (row == locks.thread.size()) return;
    const bool overlaps = locks.thread[row] == step.thread && locks.start_ns[row] < step.woken_ns;
    if (!overlaps || step.wait != StepWait::kThread) continue;
    step.is_lock = true;
    lock_wait_ns_ += step.waited_ns();
  }
}

void RunSteps::tell_ends(std::vector<uint8_t> has_ended) {
  if (has_ended.size() != threads_.size()) throw std::invalid_argument("columns of different length");
  has_ended_ = std::move(has_ended);
}

// Whether a thread ends another one's wait as it ends itself.
bool RunSteps::is_at_end(const StepSignal& signal) const {
  if (signal.what != StepSignal::kEndsWait) return false;
  const auto thread = static_cast<size_t>(steps_[signal.step].thread);
  const bool is_first = signal.target == first_[static_cast<size_t>(steps_[signal.target].thread)];
  return signal.step + kLastSteps >= first_[thread + 1] && has_ended_[thread] != 0 && !is_first;
}

// Whether it lets the one that started it go on.
bool RunSteps::is_join(const StepSignal& signal) const {
  const auto child = static_cast<size_t>(steps_[signal.step].thread);
  return is_at_end(signal) && threads_.parent[child] == steps_[signal.target].thread;
}

// A thread waits for one of those that it started to end: of those that had ended before it came to them there is no record. Each
// belongs to the first such wait after its end.
void RunSteps::join_children() {
  if (has_ended_.empty()) return;
  struct End {
    int32_t parent;
    int64_t ns;
    uint32_t step;
  };
  std::vector<uint32_t> joins;  // signals
  for (size_t i = 0; i < signals_.size(); ++i) {
    if (is_at_end(signals_[i])) steps_[signals_[i].target].is_end = true;
    if (is_join(signals_[i])) joins.push_back(static_cast<uint32_t>(i));
  }
  if (joins.empty()) return;
  std::sort(joins.begin(), joins.end(),
            [&](uint32_t a, uint32_t b) { return signals_[a].target < signals_[b].target; });
  std::vector<End> ends;
  for (size_t child = 0; child < threads_.size(); ++child) {
    if (has_ended_[child] == 0 || threads_.parent[child] < 0 || first_[child] == first_[child + 1]) continue;
    const uint32_t last = first_[child + 1] - 1;
    if (is_program(last)) ends.push_back({threads_.parent[child], steps_[last].end_ns, last});
  }
  std::sort(ends.begin(), ends.end(),
            [](const End& a, const End& b) { return std::pair(a.parent, a.ns) < std::pair(b.parent, b.ns); });
  further_signals_.assign(steps_.size(), 0);
  size_t at = 0;
  for (const uint32_t join : joins) {
    const StepSignal signal = signals_[join];
    const Step& waiting = steps_[signal.target];
    while (at < ends.size() && ends[at].parent < waiting.thread) ++at;
    for (; at < ends.size() && ends[at].parent == waiting.thread && ends[at].ns <= waiting.woken_ns; ++at) {
      if (steps_[ends[at].step].thread == steps_[signal.step].thread) continue;
      signals_.push_back({ends[at].step, signal.target, steps_[ends[at].step].running_ns(), StepSignal::kEndsWait});
      ++further_signals_[signal.target];
    }
  }
}

void RunSteps::tell_waits(JvmWaits waits) {
  const size_t rows = waits.thread.size();
  if (waits.start_ns.size() != rows || waits.end_ns.size() != rows || waits.blocker.size() != rows) {
    throw std::invalid_argument("columns of different length");
  }
  jvm_waits_ = std::move(waits);
  knows_jvm_waits_ = true;
}

// The wait of a step is the one of the JVM's that has its middle: the kernel sees it begin later, and end earlier.
void RunSteps::mark_jvm_waits() {
  const JvmWaits& waits = jvm_waits_;
  std::vector<uint8_t> has_waits(threads_.size());
  for (const int32_t thread : waits.thread) {
    if (thread >= 0 && static_cast<size_t>(thread) < has_waits.size()) has_waits[static_cast<size_t>(thread)] = 1;
  }
  size_t row = 0;
  for (Step& step : steps_) {
    const int64_t middle_ns = step.begin_ns + step.waited_ns() / 2;
    const auto key = std::pair(step.thread, middle_ns);
    while (row < waits.thread.size() && std::pair(waits.thread[row], waits.start_ns[row]) <= key) ++row;
    const bool is_recorded = row > 0 && waits.thread[row - 1] == step.thread && waits.end_ns[row - 1] >= middle_ns;
    if (is_recorded && step.waited_ns() > 0) step.blocker = waits.blocker[row - 1];
    const bool is_unrecorded = !is_recorded && has_waits[static_cast<size_t>(step.thread)] != 0 && !step.is_end;
    const bool is_for_jvm = step.blocked_in == HW_IN_FUTEX && has_role(step.waker, ThreadRole::kProgram);
    step.is_inside = (is_unrecorded && is_for_jvm) || is_for_kernel(step);
  }
  jvm_waits_ = {};
}

void RunSteps::find_next_waits() {
  next_wait_.resize(steps_.size());
  for (size_t i = steps_.size(); i-- > 0;) {
    const bool is_last = i + 1 == steps_.size() || steps_[i + 1].thread != steps_[i].thread;
    const auto next = static_cast<uint32_t>(i + 1);
    const bool is_wait = is_last || (is_program(i + 1) ? steps_[i + 1].wait != StepWait::kNone && !is_idle(i + 1)
                                                       : steps_[i + 1].wait == StepWait::kThread);
    next_wait_[i] = is_wait ? next : next_wait_[i + 1];
  }
}

// The first step of a thread that another one started waits for that one to come to where it did so.
void RunSteps::signal_starts_of_threads() {
  for (size_t thread = 0; thread < threads_.size(); ++thread) {
    if (first_[thread] == first_[thread + 1] || threads_.birth_ns[thread] < from_ns_) continue;
    const uint32_t step = first_[thread];
    const int64_t birth_ns = std::min(threads_.birth_ns[thread], steps_[step].woken_ns);
    if (threads_.parent[thread] != static_cast<int32_t>(thread) &&
        signal(threads_.parent[thread], birth_ns, step, StepSignal::kEndsWait)) {
      steps_[step].wait = StepWait::kThread;
    }
  }
}

bool RunSteps::signal(int32_t waker, int64_t ns, uint32_t target, StepSignal::What what) {
  StepPoint at;
  if (!find(waker, ns, at)) return false;
  signals_.push_back({at.step, target, at.after_ns, what});
  if (what == StepSignal::kEndsWait) steps_[at.step].is_waker = true;
  return true;
}

// The last steps of a thread that were woken by `until_ns`, as many as are looked at.
std::span<const Step> RunSteps::last_steps(int32_t thread, int64_t until_ns) const {
  const auto number = static_cast<size_t>(thread);
  const auto begin = steps_.begin() + first_[number], end = steps_.begin() + first_[number + 1];
  const auto last = std::upper_bound(begin, end, until_ns, [](int64_t a, const Step& b) { return a < b.woken_ns; });
  return {last - std::min<ptrdiff_t>(last - begin, kMostLooks), last};
}

// Whether the JVM's thread was at work already when another of the JVM's threads, such as a compiler, began to wait for it: who
// waits longer waits for work.
bool RunSteps::begins_in_stop(const Step& step) const {
  if (!has_role(step.waker, ThreadRole::kVm)) return false;
  const auto last = last_steps(step.waker, step.woken_ns);
  for (auto at = last.rbegin(); at != last.rend(); ++at) {
    if (at->waited_ns() >= kAskedNs) return step.begin_ns >= at->woken_ns;
  }
  return false;
}

// Whether the JVM's thread had stopped a thread that then waited for it: it had not woken that one for something.
bool RunSteps::is_stopped(const Step& step) const {
  if (!has_role(step.waker, ThreadRole::kVm)) return false;
  const auto last = last_steps(step.waker, step.woken_ns);
  for (auto at = last.rbegin(); at != last.rend(); ++at) {
    if (at->woken_ns < step.begin_ns - kAskedNs) return true;
    if (at->waker == step.thread && (at->flags & kWakerIrq) == 0 && at->waited_ns() > 0) return false;
  }
  return true;
}

}  // namespace headway
