#include "replay/lock_acquisitions.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace headway {
namespace {

constexpr int64_t kSameNs = 20'000;  // a waking and the end of the hold that it belongs to are recorded so near
constexpr int64_t kUnknown = INT64_MIN;
constexpr size_t kMostLooks = 64;

enum class Event : uint8_t { kHold, kRelease, kWaitEnd, kWaitBegin, kAsked };

struct Row {
  int32_t lock;
  int32_t thread;
  int64_t ns;
  Event what;
  int64_t until_ns;
};

// Waits of one thread that are one: the first block's begin, the last one's end.
void add_blocks(const LockBlocks& blocks, std::vector<Row>& rows) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(blocks.lock[a], blocks.thread[a], blocks.start_ns[a]) <
           std::tuple(blocks.lock[b], blocks.thread[b], blocks.start_ns[b]);
  });
  size_t last = SIZE_MAX;  // the row of the wait that a repark would go on with
  for (const size_t i : order) {
    const int32_t lock = blocks.lock[i], thread = blocks.thread[i];
    if (blocks.waker[i] >= 0 && blocks.waking_ns[i] >= 0 && blocks.waker[i] != thread) {
      rows.push_back({lock, blocks.waker[i], blocks.waking_ns[i], Event::kRelease, 0});
    }
    if (thread < 0) continue;
    if (blocks.is_monitor_wait[i] != 0) {
      rows.push_back({lock, thread, blocks.start_ns[i], Event::kWaitBegin, 0});
      rows.push_back({lock, thread, blocks.end_ns[i], Event::kWaitEnd, 0});
      continue;
    }
    const bool goes_on =
        blocks.is_repark[i] != 0 && last != SIZE_MAX && rows[last].lock == lock && rows[last].thread == thread;
    if (goes_on) {
      rows[last].until_ns = std::max(rows[last].until_ns, blocks.end_ns[i]);
    } else {
      last = rows.size();
      rows.push_back({lock, thread, blocks.start_ns[i], Event::kAsked, blocks.end_ns[i]});
    }
  }
}

// The acquisitions of one thread of one lock, from its rows in order of time; unknown begins and ends are kUnknown.
class OneThread {
 public:
  explicit OneThread(std::vector<Acquisition>& found) : found_(found) {}

  void take(const Row& row) {
    switch (row.what) {
      case Event::kAsked:
        close(kUnknown);
        open(row, row.ns, row.until_ns);
        break;
      case Event::kWaitEnd:
        close(kUnknown);
        open(row, row.ns, row.ns);
        break;
      case Event::kHold:
        if (is_open_ && current_.got_ns > row.until_ns) close(kUnknown);
        if (!is_open_) open(row, row.ns, row.ns);
        current_.got_ns = std::max(current_.asked_ns, row.ns);
        current_.is_hold = true;
        close(row.until_ns);
        break;
      case Event::kRelease:
      case Event::kWaitBegin:
        if (row.ns <= released_ns_ + kSameNs) break;
        if (!is_open_ || current_.got_ns > row.ns) {
          if (is_open_) break;  // it waits itself: whoever it woke did not wait for this
          open(row, kUnknown, kUnknown);
        }
        close(row.ns);
        break;
    }
  }
  void end() {
    close(kUnknown);
    released_ns_ = kUnknown + kSameNs;
  }

 private:
  void open(const Row& row, int64_t asked_ns, int64_t got_ns) {
    current_ = {row.lock, row.thread, asked_ns, got_ns, kUnknown};
    is_open_ = true;
  }
  void close(int64_t ns) {
    if (!is_open_) return;
    is_open_ = false;
    current_.released_ns = ns;
    current_.knows_got = current_.got_ns != kUnknown;
    current_.knows_released = ns != kUnknown;
    current_.is_whole = current_.knows_got && current_.knows_released;
    if (ns != kUnknown) released_ns_ = std::max(released_ns_, ns);
    found_.push_back(current_);
  }

  std::vector<Acquisition>& found_;
  Acquisition current_;
  bool is_open_ = false;
  int64_t released_ns_ = kUnknown + kSameNs;
};

int64_t typical_ns(const std::vector<Acquisition>& of_lock) {
  std::vector<int64_t> lengths;
  for (const Acquisition& each : of_lock) {
    if (each.is_whole) lengths.push_back(each.released_ns - each.got_ns);
  }
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

// What waits for one lock tell of when threads had it.
class Asked {
 public:
  Asked(const LockBlocks& blocks, const std::vector<size_t>& by_start) : blocks_(blocks), by_start_(by_start) {
    for (const size_t row : by_start) {
      if (blocks.waker[row] < 0 || blocks.waking_ns[row] < 0) continue;
      woken_.push_back({{blocks.waker[row], blocks.waking_ns[row]}, blocks.start_ns[row]});
    }
    std::sort(woken_.begin(), woken_.end());
  }

  // When another thread first asked after a time; `otherwise` where none did before that.
  int64_t first_ns(int32_t thread, int64_t after_ns, int64_t otherwise) const {
    auto at = std::upper_bound(by_start_.begin(), by_start_.end(), after_ns,
                               [&](int64_t ns, size_t row) { return ns < blocks_.start_ns[row]; });
    for (size_t looked = 0; at != by_start_.end() && looked < kMostLooks; ++at, ++looked) {
      if (blocks_.start_ns[*at] >= otherwise) break;
      if (blocks_.thread[*at] != thread) return blocks_.start_ns[*at];
    }
    return otherwise;
  }

  // Since when a thread had waited that a release woke; the release's time where it woke none.
  int64_t woken_since_ns(const Acquisition& each) const {
    const std::pair key{each.thread, each.released_ns};
    const auto found = std::lower_bound(woken_.begin(), woken_.end(), std::pair(key, kUnknown));
    return found != woken_.end() && found->first == key ? found->second : each.released_ns;
  }

 private:
  const LockBlocks& blocks_;
  const std::vector<size_t>& by_start_;
  std::vector<std::pair<std::pair<int32_t, int64_t>, int64_t>>
      woken_;  // waker, its waking, since when the woken waited
};

// When threads are known to have got one lock, in order.
std::vector<std::pair<int64_t, int32_t>> known_gots(const std::vector<Acquisition>& of_lock) {
  std::vector<std::pair<int64_t, int32_t>> found;
  for (const Acquisition& each : of_lock) {
    if (each.knows_got) found.emplace_back(each.got_ns, each.thread);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool has_other(const std::vector<std::pair<int64_t, int32_t>>& gots, const Acquisition& each) {
  auto at = std::upper_bound(gots.begin(), gots.end(), std::pair(each.got_ns, INT32_MAX));
  for (size_t looked = 0; at != gots.end() && at->first < each.released_ns && looked < kMostLooks; ++at, ++looked) {
    if (at->second != each.thread) return true;
  }
  return false;
}

// The longest that one lock is known to have been had: recorded, or several times since the last thread got it while others
// were seen to wait.
int64_t longest_seen_ns(const std::vector<Acquisition>& of_lock, const Asked& asked,
                        const std::vector<std::pair<int64_t, int32_t>>& gots) {
  constexpr int64_t kTimes = 4;  // whoever comes finds it had for some time already, on average half of it
  int64_t found = 0;
  for (const Acquisition& each : of_lock) {
    if (each.is_hold) found = std::max(found, each.released_ns - each.got_ns);
    if (each.is_hold || !each.knows_released) continue;
    auto before = std::lower_bound(gots.begin(), gots.end(), std::pair(each.released_ns, INT32_MIN));
    const int64_t got_ns = before == gots.begin() ? kUnknown : (before - 1)->first;
    found = std::max(found, kTimes * (each.released_ns - std::max(asked.woken_since_ns(each), got_ns)));
  }
  return found;
}

// A thread that got the lock, and releases it much later, has had it twice where others got it in between, or where the first to
// find it taken came after longer than anybody is known to have had it: it was free in between, and nobody waited for that.
void split_long(std::vector<Acquisition>& of_lock, const Asked& asked) {
  const auto gots = known_gots(of_lock);
  const int64_t longest_ns = longest_seen_ns(of_lock, asked, gots);
  const size_t rows = of_lock.size();
  for (size_t i = 0; i < rows; ++i) {
    Acquisition& each = of_lock[i];
    if (each.is_hold || !each.is_whole) continue;
    const bool was_free = asked.first_ns(each.thread, each.got_ns, each.released_ns) - each.got_ns > longest_ns;
    if (!(was_free && longest_ns > 0) && !has_other(gots, each)) continue;
    Acquisition second = each;
    second.asked_ns = second.got_ns = kUnknown;
    second.knows_got = second.is_whole = false;
    each.released_ns = kUnknown;
    each.knows_released = each.is_whole = false;
    of_lock.push_back(second);
  }
}

// When a thread that released the lock at an unknown time after it got it had it at the latest: who found it having it.
int64_t seen_since_ns(const LockBlocks& blocks, const std::vector<size_t>& by_start, int32_t thread, int64_t from_ns,
                      int64_t to_ns) {
  auto at = std::lower_bound(by_start.begin(), by_start.end(), from_ns,
                             [&](size_t row, int64_t ns) { return blocks.start_ns[row] < ns; });
  for (size_t looked = 0; at != by_start.end() && looked < kMostLooks; ++at, ++looked) {
    if (blocks.start_ns[*at] >= to_ns) break;
    if (blocks.owner[*at] == thread) return blocks.start_ns[*at];
  }
  return to_ns;
}

int64_t known_ns(const Acquisition& each) { return each.got_ns != kUnknown ? each.got_ns : each.released_ns; }

// Fills in what is unknown of one lock's acquisitions, and cuts those that overlap.
void complete(std::vector<Acquisition>& of_lock, const LockBlocks& blocks, const std::vector<size_t>& by_start) {
  const Asked asked(blocks, by_start);
  split_long(of_lock, asked);
  const int64_t typical = typical_ns(of_lock);
  std::stable_sort(of_lock.begin(), of_lock.end(), [](const Acquisition& a, const Acquisition& b) {
    return std::pair(known_ns(a), a.got_ns) < std::pair(known_ns(b), b.got_ns);  // a release comes first
  });
  int64_t free_ns = 0;
  for (size_t i = 0; i < of_lock.size(); ++i) {
    Acquisition& each = of_lock[i];
    if (each.got_ns == kUnknown) {
      const int64_t begin =
          std::clamp(each.released_ns - typical, std::min(free_ns, each.released_ns), each.released_ns);
      const int64_t woken_since_ns = std::max(asked.woken_since_ns(each), std::min(free_ns, each.released_ns));
      each.got_ns =
          std::min({begin, woken_since_ns, seen_since_ns(blocks, by_start, each.thread, free_ns, each.released_ns)});
      each.asked_ns = each.got_ns;
    }
    if (each.released_ns == kUnknown) {
      const int64_t next = i + 1 < of_lock.size() ? known_ns(of_lock[i + 1]) : INT64_MAX;
      each.released_ns = std::max(each.got_ns, std::min(each.got_ns + typical, next));
    }
    each.got_ns = std::max(each.got_ns, each.asked_ns);
    each.released_ns = std::max(each.released_ns, each.got_ns);
    free_ns = std::max(free_ns, each.released_ns);
  }
  std::stable_sort(of_lock.begin(), of_lock.end(),
                   [](const Acquisition& a, const Acquisition& b) { return a.got_ns < b.got_ns; });
  for (size_t i = 1; i < of_lock.size(); ++i) {
    Acquisition &before = of_lock[i - 1], &each = of_lock[i];
    if (before.released_ns <= each.got_ns) continue;
    if (each.knows_got || !before.knows_released) {
      each.got_ns = std::max(each.got_ns, before.got_ns);
      before.released_ns = each.got_ns;
    } else {
      each.got_ns = before.released_ns;
    }
    each.released_ns = std::max(each.released_ns, each.got_ns);
  }
}

}  // namespace

bool LockBlocks::is_sound() const {
  const size_t rows = size();
  return thread.size() == rows && waker.size() == rows && owner.size() == rows && start_ns.size() == rows &&
         end_ns.size() == rows && waking_ns.size() == rows && is_repark.size() == rows &&
         is_monitor_wait.size() == rows;
}

bool LockHolds::is_sound() const {
  return thread.size() == size() && start_ns.size() == size() && end_ns.size() == size();
}

std::vector<Acquisition> acquisitions(const LockBlocks& blocks, const LockHolds& holds) {
  std::vector<Row> rows;
  add_blocks(blocks, rows);
  for (size_t i = 0; i < holds.size(); ++i) {
    if (holds.thread[i] < 0 || holds.end_ns[i] < holds.start_ns[i]) continue;
    rows.push_back({holds.lock[i], holds.thread[i], holds.start_ns[i], Event::kHold, holds.end_ns[i]});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.lock, a.thread, a.ns, a.what) < std::tuple(b.lock, b.thread, b.ns, b.what);
  });
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(blocks.lock[a], blocks.start_ns[a]) < std::pair(blocks.lock[b], blocks.start_ns[b]);
  });
  std::vector<Acquisition> found, of_lock;
  std::vector<size_t> by_start;
  size_t block = 0;
  for (size_t i = 0; i < rows.size();) {
    const int32_t lock = rows[i].lock;
    of_lock.clear();
    by_start.clear();
    OneThread thread(of_lock);
    for (; i < rows.size() && rows[i].lock == lock; ++i) {
      if (i > 0 && rows[i - 1].thread != rows[i].thread) thread.end();
      thread.take(rows[i]);
    }
    thread.end();
    while (block < order.size() && blocks.lock[order[block]] < lock) ++block;
    for (; block < order.size() && blocks.lock[order[block]] == lock; ++block) by_start.push_back(order[block]);
    complete(of_lock, blocks, by_start);
    found.insert(found.end(), of_lock.begin(), of_lock.end());
  }
  return found;
}

}  // namespace headway
