// The next change of each thread, the latest on top. A thread has at most one, which may be moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace headway {

class TimeHeap {
 public:
  void resize(size_t threads) { place_.resize(threads, kNone); }
  bool empty() const { return heap_.empty(); }
  int64_t top_ns() const { return heap_.front().ns; }
  uint32_t top() const { return heap_.front().thread; }

  void set(uint32_t thread, int64_t ns) {
    uint32_t at = place_[thread];
    if (at == kNone) {
      at = static_cast<uint32_t>(heap_.size());
      heap_.push_back({ns, thread});
    }
    const bool is_earlier = ns < heap_[at].ns;
    heap_[at] = {ns, thread};
    if (is_earlier) {
      sink(at);
    } else {
      rise(at);
    }
  }

  void remove(uint32_t thread) {
    const uint32_t at = place_[thread];
    if (at == kNone) return;
    place_[thread] = kNone;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    heap_[at] = last;
    rise(at);
    sink(place_[last.thread]);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    int64_t ns;
    uint32_t thread;
  };

  void rise(uint32_t at) {
    const Entry entry = heap_[at];
    while (at > 0) {
      const uint32_t parent = (at - 1) / 2;
      if (heap_[parent].ns >= entry.ns) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }

  void sink(uint32_t at) {
    const Entry entry = heap_[at];
    const auto size = static_cast<uint32_t>(heap_.size());
    for (;;) {
      uint32_t child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && heap_[child + 1].ns > heap_[child].ns) ++child;
      if (heap_[child].ns <= entry.ns) break;
      put(at, heap_[child]);
      at = child;
    }
    put(at, entry);
  }

  void put(uint32_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.thread] = at;
  }

  std::vector<Entry> heap_;
  std::vector<uint32_t> place_;
};

}  // namespace headway
