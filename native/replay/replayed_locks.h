// Exclusive locks of a run while it is replayed: who has each, and who waits for it.
//
// A released lock is free, and the first of those that wait is woken. Until it is awake and tries, whoever comes may get the
// lock: so HotSpot's monitors and the usual locks of java.util.concurrent do, but not the fair ones. How often that happens is a
// matter of scheduling, and taken from the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

namespace headway {

class ReplayedLocks {
 public:
  ReplayedLocks() = default;
  ReplayedLocks(const std::vector<double>& barging, uint64_t seed);

  // Whether the thread has the lock now; else it waits until it is woken, and asks again.
  bool acquire(uint32_t lock, uint32_t thread, double now_ns);
  // Who is woken; -1: nobody. What the thread does not have it does not release.
  int32_t release(uint32_t lock, uint32_t thread);
  // All that a thread has that is at its end.
  template <typename Wake>
  void release_all(uint32_t thread, const Wake& wake) {
    while (thread < last_.size() && last_[thread] >= 0) {
      const int32_t next = release(static_cast<uint32_t>(last_[thread]), thread);
      if (next >= 0) wake(static_cast<uint32_t>(next));
    }
  }

  size_t waiting() const { return waiting_; }
  int32_t holder(uint32_t lock) const { return static_cast<int32_t>(locks_[lock].holder); }  // -1: it is free
  // By lock: how long threads have waited for it, added up.
  std::vector<double> waited_ns(double now_ns) const;

 private:
  struct Waiter {
    uint32_t thread;
    double since_ns;
  };
  struct Lock {
    int64_t holder = -1;
    int32_t before = -1;  // the lock that its holder got before it, and has
    int32_t after = -1;
    std::list<Waiter> queue;  // no memory while it is empty: a split lock may be a thousand, of thousands
    double waited_ns = 0;
    bool is_first_awake = false;
    double barging = 1;
  };

  bool barges(const Lock& lock);
  void give(uint32_t lock, uint32_t thread);

  std::mt19937_64 random_;
  std::vector<Lock> locks_;
  std::vector<int32_t> last_;  // by thread: the lock that it has and got last
  size_t waiting_ = 0;
};

}  // namespace headway
