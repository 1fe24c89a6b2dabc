#include "replay/replay.h"

#include <algorithm>

namespace headway {
namespace {

// How far each thread is ahead, by group; and how far those were who ended the wait that it is in.
class Ahead {
 public:
  Ahead(size_t threads, size_t groups)
      : threads_(threads), groups_(groups), now_(threads * groups), waker_(threads * groups) {}

  bool knows(int32_t thread) const { return thread >= 0 && static_cast<size_t>(thread) < threads_; }
  const int64_t* of(size_t thread) const { return now_.data() + thread * groups_; }

  void born(int32_t thread, int32_t other) { std::copy_n(of(at(other)), groups_, now_.begin() + row(thread)); }
  void woken(int32_t thread, int32_t other) { std::copy_n(of(at(other)), groups_, waker_.begin() + row(thread)); }

  void ended(int32_t thread, bool has_waker, bool is_lock, int64_t length_ns, int32_t group) {
    int64_t* mine = now_.data() + row(thread);
    const int64_t* its = waker_.data() + row(thread);
    const bool has_group = group >= 0 && static_cast<size_t>(group) < groups_;
    const int64_t without = has_group ? mine[group] + length_ns : 0;
    if (has_waker) {
      for (size_t g = 0; g < groups_; ++g) {
        const int64_t least = is_lock ? std::max(mine[g], its[g]) : its[g];
        mine[g] = std::min(mine[g] + length_ns, least);
      }
    }
    if (has_group) mine[group] = without;
  }

 private:
  static size_t at(int32_t thread) { return static_cast<size_t>(thread); }
  std::ptrdiff_t row(int32_t thread) const { return static_cast<std::ptrdiff_t>(at(thread) * groups_); }

  size_t threads_;
  size_t groups_;
  std::vector<int64_t> now_;
  std::vector<int64_t> waker_;
};

}  // namespace

std::vector<int64_t> replayed(const ReplayColumns& events, size_t threads, size_t groups,
                              const std::vector<size_t>& last) {
  Ahead ahead(threads, groups);
  for (size_t i = 0; i < events.rows; ++i) {
    const int32_t thread = events.thread[i], other = events.other[i];
    if (!ahead.knows(thread)) continue;
    switch (static_cast<ReplayEvent>(events.what[i])) {
      case ReplayEvent::kBorn:
        if (ahead.knows(other)) ahead.born(thread, other);
        break;
      case ReplayEvent::kWoken:
        if (ahead.knows(other)) ahead.woken(thread, other);
        break;
      case ReplayEvent::kEnded:
      case ReplayEvent::kGot:
        ahead.ended(thread, ahead.knows(other), events.what[i] == static_cast<uint8_t>(ReplayEvent::kGot),
                    events.length_ns[i], events.group[i]);
        break;
    }
  }
  std::vector<int64_t> found(last.size() * groups, 0);
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] < threads) std::copy_n(ahead.of(last[i]), groups, found.data() + i * groups);
  }
  return found;
}

}  // namespace headway
