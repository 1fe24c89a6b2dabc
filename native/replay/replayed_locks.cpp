#include "replay/replayed_locks.h"

namespace headway {

ReplayedLocks::ReplayedLocks(const std::vector<double>& barging, uint64_t seed)
    : random_(seed), locks_(barging.size()) {
  for (size_t i = 0; i < barging.size(); ++i) locks_[i].barging = barging[i];
}

bool ReplayedLocks::barges(const Lock& lock) {
  constexpr double kMost = 1 << 24;
  return static_cast<double>(random_() >> 40) / kMost < lock.barging;
}

bool ReplayedLocks::acquire(uint32_t at, uint32_t thread, double now_ns) {
  Lock& lock = locks_[at];
  const bool is_first = !lock.queue.empty() && lock.queue.front().thread == thread;
  const bool is_mine = lock.holder == static_cast<int64_t>(thread);  // damaged columns: twice
  const bool is_free = lock.holder < 0 && (is_first || lock.queue.empty() || barges(lock));
  if (is_first) lock.is_first_awake = false;
  if (!is_free && !is_mine) {
    if (is_first) return false;
    lock.queue.push_back({thread, now_ns});
    ++waiting_;
    return false;
  }
  if (is_first) {
    lock.waited_ns += now_ns - lock.queue.front().since_ns;
    lock.queue.pop_front();
    --waiting_;
  }
  if (is_mine) return true;
  give(at, thread);
  return true;
}

void ReplayedLocks::give(uint32_t at, uint32_t thread) {
  if (thread >= last_.size()) last_.resize(thread + size_t{1}, -1);
  Lock& lock = locks_[at];
  lock.holder = thread;
  lock.before = last_[thread];
  lock.after = -1;
  if (lock.before >= 0) locks_[static_cast<size_t>(lock.before)].after = static_cast<int32_t>(at);
  last_[thread] = static_cast<int32_t>(at);
}

int32_t ReplayedLocks::release(uint32_t at, uint32_t thread) {
  Lock& lock = locks_[at];
  if (lock.holder != static_cast<int64_t>(thread)) return -1;
  lock.holder = -1;
  if (lock.before >= 0) locks_[static_cast<size_t>(lock.before)].after = lock.after;
  if (lock.after >= 0) {
    locks_[static_cast<size_t>(lock.after)].before = lock.before;
  } else {
    last_[thread] = lock.before;
  }
  if (lock.queue.empty() || lock.is_first_awake) return -1;
  lock.is_first_awake = true;
  return static_cast<int32_t>(lock.queue.front().thread);
}

std::vector<double> ReplayedLocks::waited_ns(double now_ns) const {
  std::vector<double> found;
  for (const Lock& lock : locks_) {
    double ns = lock.waited_ns;
    for (const Waiter& each : lock.queue) ns += now_ns - each.since_ns;
    found.push_back(ns);
  }
  return found;
}

}  // namespace headway
