// A tournament tree of the next change of each thread, the latest on top. A thread has at most one, which may be moved.
//
// A tournament: each thread plays against its neighbour, the winners of two matches against each other, and so on. One
// change is as many matches as the tree is high, whoever wins, so that no branch hangs on the times, as a heap's do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headway {

// The thread that changes next, always at hand.
class TournamentTree {
 public:
  static constexpr int64_t kNever = INT64_MIN;

  explicit TournamentTree(size_t threads) : threads_(threads), first_(std::bit_ceil(threads)), entries_(2 * first_) {}
  size_t threads() const { return threads_; }
  int64_t top_ns() const { return entries_[1].ns; }
  uint32_t top() const { return entries_[1].thread; }

  void set(uint32_t thread, int64_t ns) {
    size_t at = first_ + thread;
    Entry winner{ns, thread};
    entries_[at] = winner;
    for (; at > 1; at /= 2) {
      const Entry other = entries_[at ^ 1];
      const bool is_other = other.ns > winner.ns;
      winner.ns = is_other ? other.ns : winner.ns;
      winner.thread = is_other ? other.thread : winner.thread;
      entries_[at / 2] = winner;
    }
  }

 private:
  struct Entry {
    int64_t ns = kNever;
    uint32_t thread = 0;
  };

  size_t threads_;
  size_t first_;  // of the entries of threads; entry i is the winner of entries 2 i and 2 i + 1
  std::vector<Entry> entries_;
};

}  // namespace headway
