// Who wrote last to each byte of the heap's cache lines, and how often a write found that another thread had written
// there, or near, since (docs/decisions/0020-cache-lines.md).
//
// A field or an element is known by its first byte. Of a write to one that a thread has written before itself, another
// thread's write elsewhere on the line in between is false sharing; a write to one that another thread wrote last is
// true sharing. The first write to a place says nothing.
//
// Bounded: lines that were not written to for long make room for others. Knows nothing of the JVM.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "agent/core/spin.h"
#include "wire/records.h"

namespace headway::agent {

class CacheLines {
 public:
  static constexpr uint32_t kPlaces = 1U << 16;   // what is written to has a number from 1 on
  static constexpr size_t kMostThreads = 65'534;  // in the whole recording
  static constexpr size_t kMostAlive = 1U << 13;  // at the same time
  static constexpr size_t kShares = 1U << 10;     // sums of one thread
  static constexpr size_t kMostRows = 1U << 16;   // sums of all threads that are handed on

  // How often a thread's write met another's: which, by all that tells them apart in one word.
  struct Share {
    std::atomic<uint64_t> key{0};
    std::atomic<uint64_t> count{0};
  };
  struct Thread {
    uint16_t number = 0;
    uint64_t java_id = 0;
    uint64_t* writes = nullptr;                // by place
    std::map<uint64_t, uint64_t> handed_on{};  // by key: the sum, when it was handed on last
    std::array<Share, kShares> shares{};
  };
  // A write that is about to happen. `epoch`: how many collections there were, which move objects.
  struct Write {
    uint64_t address;  // of the field or element
    uint64_t object;   // where the object begins
    uint32_t place;
    uint32_t epoch;
  };

  CacheLines() = default;
  ~CacheLines();  // nobody writes any more
  CacheLines(const CacheLines&) = delete;
  CacheLines& operator=(const CacheLines&) = delete;

  // Takes the memory, once: what is not written to takes none. False: there is none.
  bool start() noexcept;

  // A thread's own sums, which only it changes. Null: there are too many threads, or no memory.
  Thread* begin_thread(uint64_t java_id) noexcept;
  void note(Thread& thread, const Write& write) noexcept;
  // The same of a write of which it is not known where it is.
  static void count(Thread& thread, uint32_t place) noexcept;

  // Hands on the sums of a thread that writes no more, by `output`: (hw_line_writes) and (hw_line_share).
  template <typename Output>
  void end_thread(Thread* thread, Output output) noexcept {
    const std::lock_guard locked(mutex_);
    write_thread(*thread, output);
    release(*thread);
  }

  // Hands on all sums that have changed since; returns how many.
  template <typename Output>
  uint32_t write_changed(Output output) noexcept {
    uint32_t written = 0;
    // One at a time, so that threads which begin or end do not wait for all. From the last on: those that end meanwhile move
    // only threads that come later here, or that were handed on already.
    for (size_t left = alive(); left > 0; --left) {
      const std::lock_guard locked(mutex_);
      if (left <= alive_.size()) written += write_thread(*alive_[left - 1], output);
    }
    return written;
  }

  // Places up to this one have a number: sums of others are not looked at. Several threads may call it at once, in any order.
  void use_places(uint32_t last) noexcept {
    uint32_t known = last_place_.load(std::memory_order_relaxed);
    while (known < last && !last_place_.compare_exchange_weak(known, last, std::memory_order_relaxed)) continue;
  }

  // Lines that several threads had written to, and that others have taken the room of.
  uint64_t pushed_out() const noexcept { return pushed_out_.load(std::memory_order_relaxed); }
  uint64_t threads_left_out() const noexcept { return threads_left_out_.load(std::memory_order_relaxed); }
  uint64_t shares_left_out() const noexcept { return shares_left_out_.load(std::memory_order_relaxed); }

 private:
  struct Found {
    uint16_t thread = 0;  // 0: no other
    uint32_t place = 0;
    hw_line_kind kind = HW_LINE_SAME_PLACE;
    bool same_object = true;
  };
  struct Block;

  size_t alive() noexcept {
    const std::lock_guard locked(mutex_);
    return alive_.size();
  }
  Found find(uint16_t thread, const Write& write) noexcept;
  void add(Thread& thread, uint64_t key) noexcept;
  void release(Thread& thread) noexcept;
  static hw_line_writes writes_of(const Thread& thread, uint32_t place) noexcept;
  hw_line_share share_of(const Thread& thread, uint64_t key, uint64_t count) const noexcept;
  bool has_row(Thread& thread, uint64_t key) noexcept;

  template <typename Output>
  uint32_t write_thread(Thread& thread, Output output) noexcept {
    uint32_t written = 0;
    // Whether a sum is to be handed on; sums of writes are known by their place, those of shares by a larger key.
    const auto is_new = [&](uint64_t key, uint64_t sum) {
      if (sum == 0 || !has_row(thread, key)) return false;
      uint64_t& before = thread.handed_on[key];
      if (before == sum) return false;
      before = sum;
      ++written;
      return true;
    };
    const uint32_t last = last_place_.load(std::memory_order_relaxed);
    for (uint32_t place = 1; place <= last; ++place) {
      const hw_line_writes record = writes_of(thread, place);
      if (is_new(place, record.writes)) output(record);
    }
    for (const Share& share : thread.shares) {
      const uint64_t key = share.key.load(std::memory_order_acquire);
      const uint64_t count = share.count.load(std::memory_order_relaxed);
      if (key != 0 && is_new(key, count)) output(share_of(thread, key, count));
    }
    return written;
  }

  std::mutex mutex_;
  Block* blocks_ = nullptr;
  std::vector<std::unique_ptr<Thread>> alive_;
  std::vector<uint64_t> ids_{0};  // of threads, by their numbers
  size_t rows_ = 0;
  std::atomic<uint32_t> last_place_{0};
  std::atomic<uint64_t> pushed_out_{0}, threads_left_out_{0}, shares_left_out_{0};
};

}  // namespace headway::agent
