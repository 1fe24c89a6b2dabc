// The scheduler that a replay assumes: threads share cores evenly. While no more are ready than there are cores, each has
// one; else each goes on at the same part of a core's speed: what fair schedulers give in the long run, without their
// time slices.
//
// Threads belong to groups, which can be stopped: those of a stopped group stay where they are. As all threads of a group
// go on alike, one clock for the group says where each is, and a step takes the logarithm of the threads that are ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace headway {

// Logical CPUs that share a core's execution units. Threads are spread: no core has two as long as another one has none.
struct CorePairs {
  double per_core = 1;    // so many logical CPUs are a core
  double throughput = 1;  // of a core with all of them busy, times that of one alone; between them in proportion
};

class CoreSharing {
 public:
  // `cores` counts logical CPUs.
  CoreSharing(double cores, size_t groups, CorePairs pairs = {}) : cores_(cores), pairs_(pairs), groups_(groups) {}

  void add(size_t group, uint32_t thread, double work_ns);
  void stop(size_t group);
  void let_go(size_t group);
  void remove_all(size_t group);  // for good

  size_t ready() const { return ready_; }
  // In how many ns the next thread has done its work; negative: none will.
  double next_ns() const;
  // Lets time go by, no more than next_ns().
  void advance(double ns);
  // The next thread that has done its work, which is then no longer ready; call when advance() was given next_ns().
  uint32_t take();

 private:
  struct Entry {
    double end;
    uint64_t order;  // what became ready first comes first
    uint32_t thread;
    bool operator>(const Entry& other) const { return end != other.end ? end > other.end : order > other.order; }
  };
  struct Group {
    double clock = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    bool is_stopped = false;
  };

  double speed() const;
  const Group* first() const;

  double cores_;
  CorePairs pairs_;
  size_t ready_ = 0;
  uint64_t order_ = 0;
  std::vector<Group> groups_;
};

}  // namespace headway
