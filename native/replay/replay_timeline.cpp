#include "replay/replay_timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "wire/records.h"

namespace headway {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

int64_t whole(double ns) { return static_cast<int64_t>(std::llround(ns)); }

// Where between two predicted times, as far as between two recorded ones.
int64_t between(int64_t ns, int64_t from_ns, int64_t to_ns, int64_t at_ns, int64_t until_ns) {
  if (to_ns <= from_ns) return until_ns;
  const double part = static_cast<double>(ns - from_ns) / static_cast<double>(to_ns - from_ns);
  return at_ns + whole(part * static_cast<double>(until_ns - at_ns));
}

template <typename T>
void sort_by(std::vector<T>& column, const std::vector<uint32_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(column.size());
  for (const uint32_t at : order) sorted.push_back(column[at]);
  column = std::move(sorted);
}

}  // namespace

ReplayTimeline::ReplayTimeline(const RunSteps& run)
    : run_(run), threads_(run.threads().size()), times_(run.steps().size()) {
  int32_t most = -1;
  for (const int32_t process : run.threads().process) most = std::max(most, process);
  stops_.resize(static_cast<size_t>(int64_t{most} + 1));
}

void ReplayTimeline::waits(uint32_t thread, uint32_t at, double ns) {
  const Step& step = run_.steps()[at];
  Thread& its = threads_[thread];
  its = {};
  its.begin_ns = ns;
  its.step = at;
  its.waker = step.waker;
  its.flags = static_cast<uint8_t>(step.flags & (kBlockedStateMask | kWakerIrq));
  its.blocked_in = step.blocked_in;
  its.has_step = true;
  times_[at].begin_ns = whole(ns);
}

void ReplayTimeline::is_woken(uint32_t thread, double ns) { threads_[thread].woken_ns = ns; }

void ReplayTimeline::is_woken_by(uint32_t thread, uint32_t waker, double ns) {
  threads_[thread].waker = static_cast<int32_t>(waker);
  threads_[thread].woken_ns = ns;
}

void ReplayTimeline::runs(uint32_t thread, double ns) {
  Thread& its = threads_[thread];
  if (its.start_ns >= 0 || !its.has_step) return;
  its.start_ns = ns;
  if (its.woken_ns < 0 || its.woken_ns > ns) its.woken_ns = ns;
  if (its.asked_ns >= 0) end_lock_wait(thread, its.woken_ns);
  Times& times = times_[its.step];
  if (times.start_ns >= 0) return;  // it goes on after a wait for a lock
  if (is_born(thread)) {            // before that it did not wait
    const auto waited = static_cast<double>(run_.steps()[its.step].waited_ns());
    its.begin_ns = std::max(its.begin_ns, its.woken_ns - waited);
    times.begin_ns = whole(its.begin_ns);
  }
  times.woken_ns = whole(its.woken_ns);
  times.start_ns = whole(ns);
}

void ReplayTimeline::ends(uint32_t thread, double ns) {
  Thread& its = threads_[thread];
  if (!its.has_step) return;
  close(thread, ns);
  times_[its.step].end_ns = whole(ns);
  its.has_step = false;
}

void ReplayTimeline::asks(uint32_t thread, uint32_t lock, int32_t holder, double ns) {
  Thread& its = threads_[thread];
  if (its.asked_ns >= 0) {
    end_lock_wait(thread, ns);
  } else {
    close(thread, ns);
    blocks(its, ns, holder);
  }
  its.woken_ns = -1;
  its.asked_ns = ns;
  its.lock = lock;
  its.holder = holder;
}

void ReplayTimeline::stops(uint32_t process, int32_t vm_thread, double ns) {
  if (process >= stops_.size()) return;
  auto& its = stops_[process];
  if (its.empty() || its.back().end_ns < kNever) its.push_back({ns, kNever, vm_thread});
}

void ReplayTimeline::goes_on(uint32_t process, double ns) {
  if (process >= stops_.size() || stops_[process].empty()) return;
  Stop& last = stops_[process].back();
  last.end_ns = std::min(last.end_ns, ns);
}

void ReplayTimeline::finish(double ns) {
  end_ns_ = whole(ns);
  for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
    Thread& its = threads_[thread];
    if (!its.has_step) continue;
    if (its.begin_ns >= ns) continue;
    if (its.asked_ns >= 0) end_lock_wait(thread, ns);
    its.flags |= kIsOpen;
    if (its.start_ns < 0) {
      if (is_born(thread)) continue;  // not yet
      its.start_ns = ns;
      its.woken_ns = its.woken_ns < 0 ? ns : std::min(its.woken_ns, ns);
    }
    close(thread, ns);
  }
  order();
}

// Whether a thread is in its first step, and began with it.
bool ReplayTimeline::is_born(uint32_t thread) const {
  return threads_[thread].step == run_.first()[thread] && run_.threads().birth_ns[thread] >= run_.from_ns();
}

void ReplayTimeline::blocks(Thread& its, double ns, int32_t waker) {
  its.begin_ns = ns;
  its.woken_ns = its.start_ns = -1;
  its.waker = waker;
  its.flags = kSleeping;
  its.blocked_in = HW_IN_FUTEX;
}

// Its slice ends, in which it stood still wherever its process did.
void ReplayTimeline::close(uint32_t thread, double ns) {
  Thread& its = threads_[thread];
  const int32_t process = run_.threads().process[thread];
  const bool may_stop = run_.threads().role[thread] == static_cast<uint8_t>(ThreadRole::kProgram) && process >= 0;
  if (may_stop) {
    const auto& stops = stops_[static_cast<size_t>(process)];
    auto at = std::upper_bound(stops.begin(), stops.end(), its.start_ns,
                               [](double start, const Stop& stop) { return start < stop.end_ns; });
    for (; at != stops.end() && at->start_ns < ns && is_whole_; ++at) {
      const double until = std::min(at->end_ns, ns);
      if (at->start_ns <= its.start_ns) {
        its.woken_ns = its.start_ns = until;
        continue;
      }
      put(thread, its, at->start_ns);
      blocks(its, at->start_ns, at->vm_thread);
      its.woken_ns = its.start_ns = until;
    }
  }
  put(thread, its, ns);
}

void ReplayTimeline::put(uint32_t thread, const Thread& its, double ns) {
  const int64_t begin = whole(its.begin_ns), woken = whole(its.woken_ns), start = whole(its.start_ns), end = whole(ns);
  if (end <= begin) return;
  is_whole_ = is_whole_ && slices_.end_ns.size() < kMostSlices;
  if (!is_whole_) return;
  slices_.end_ns.push_back(end);
  slices_.running_ns.push_back(end - start);
  slices_.runnable_ns.push_back(start - woken);
  slices_.blocked_ns.push_back(woken - begin);
  slices_.thread_id.push_back(static_cast<int32_t>(thread));
  slices_.waker_id.push_back(its.waker);
  slices_.flags.push_back(its.flags);
  slices_.blocked_in.push_back(its.blocked_in);
}

void ReplayTimeline::end_lock_wait(uint32_t thread, double ns) {
  Thread& its = threads_[thread];
  const int64_t start = whole(its.asked_ns), end = whole(ns);
  its.asked_ns = -1;
  is_whole_ = is_whole_ && lock_waits_.thread.size() < kMostSlices;
  if (end <= start || !is_whole_) return;
  lock_waits_.thread.push_back(static_cast<int32_t>(thread));
  lock_waits_.lock.push_back(static_cast<int32_t>(its.lock));
  lock_waits_.holder.push_back(its.holder);
  lock_waits_.start_ns.push_back(start);
  lock_waits_.end_ns.push_back(end);
}

// Stops are known to a slice when it ends, so that its parts come late.
void ReplayTimeline::order() {
  const auto& end = slices_.end_ns;
  if (std::is_sorted(end.begin(), end.end())) return;
  std::vector<uint32_t> order(end.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return end[a] < end[b]; });
  for (auto* column : {&slices_.running_ns, &slices_.runnable_ns, &slices_.blocked_ns, &slices_.end_ns}) {
    sort_by(*column, order);
  }
  sort_by(slices_.thread_id, order);
  sort_by(slices_.waker_id, order);
  sort_by(slices_.flags, order);
  sort_by(slices_.blocked_in, order);
}

int64_t ReplayTimeline::time_of(int32_t thread, int64_t ns) const {
  if (thread < 0 || static_cast<size_t>(thread) >= threads_.size()) return end_ns_;
  const auto& steps = run_.steps();
  const auto begin = steps.begin() + run_.first()[static_cast<size_t>(thread)];
  const auto end = steps.begin() + run_.first()[static_cast<size_t>(thread) + 1];
  if (begin == end) return end_ns_;
  auto at = std::lower_bound(begin, end, ns, [](const Step& step, int64_t time) { return step.end_ns < time; });
  const bool is_after = at == end;
  if (is_after) --at;
  const Step& step = *at;
  const Times& times = times_[static_cast<size_t>(at - steps.begin())];
  const auto reached = [&](int64_t time) { return time < 0 ? end_ns_ : std::min(time, end_ns_); };
  const int64_t began = reached(times.begin_ns), woken = reached(times.woken_ns), start = reached(times.start_ns);
  const int64_t ended = reached(times.end_ns);
  if (is_after) return ended;
  if (ns <= step.begin_ns) return began;
  if (ns <= step.woken_ns) return between(ns, step.begin_ns, step.woken_ns, began, woken);
  if (ns <= step.start_ns) return between(ns, step.woken_ns, step.start_ns, woken, start);
  return between(ns, step.start_ns, step.end_ns, start, ended);
}

}  // namespace headway
