// Pools of a run while it is replayed: so many workers each, and tasks that wait for one in the order in which they were submitted.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace headway {

class ReplayedPools {
 public:
  ReplayedPools() = default;
  explicit ReplayedPools(const std::vector<uint32_t>& workers) : pools_(workers.size()) {
    for (size_t i = 0; i < workers.size(); ++i) pools_[i].free = workers[i];
  }

  // Whether the task has a worker now; else it waits until one that is done with another takes it, and asks again.
  bool take(uint32_t at, uint32_t task) {
    if (has_.contains(task)) return true;
    Pool& pool = pools_[at];
    if (pool.free == 0) {
      pool.queue.push_back(task);
      return false;
    }
    --pool.free;
    has_[task] = at;
    return true;
  }

  // A task is done; the one that its worker takes next, -1: none.
  int64_t done(uint32_t task) {
    const auto found = has_.find(task);
    if (found == has_.end()) return -1;
    const uint32_t at = found->second;
    has_.erase(found);
    Pool& pool = pools_[at];
    if (pool.queue.empty()) {
      ++pool.free;
      return -1;
    }
    const uint32_t next = pool.queue.front();
    pool.queue.pop_front();
    has_[next] = at;
    return next;
  }

 private:
  struct Pool {
    uint32_t free = 0;
    std::deque<uint32_t> queue;
  };

  std::vector<Pool> pools_;
  std::unordered_map<uint32_t, uint32_t> has_;  // the pool of each task that has a worker
};

}  // namespace headway
