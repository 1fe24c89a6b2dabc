// The live table of blockers (hw_lock_header, hw_lock_slot): exact sums in a memory-mapped file that others read while
// the program runs, and that is there when the JVM was killed.
//
// The sums go by the algorithm of park-contention profiling: at each event parked_now as it was is multiplied with the
// time since the event before, then updated. An event's time is moved to the one before it where another thread came
// first, and that time is returned: so the sums of a slot are exactly those of the waits that are reported to it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/core/arena.h"
#include "agent/core/file_guard.h"
#include "agent/core/spin.h"
#include "wire/records.h"

namespace headway::agent {

// The file locks-<pid>.table of one recording.
class LockTable {
 public:
  static constexpr uint32_t kMaxSlots = 1U << 18;
  static constexpr uint32_t kReservedSlots = 1024;  // for the sums of forgotten blockers
  static constexpr uint64_t kSegmentBytes = 64 * 1024;
  static constexpr uint64_t kSlotsAt = HW_HEADER_BYTES + uint64_t{HW_LOCK_CLASSES} * HW_LOCK_CLASS_BYTES;

  LockTable() = default;
  ~LockTable();
  LockTable(const LockTable&) = delete;
  LockTable& operator=(const LockTable&) = delete;

  // Creates the file. `no_map` as in ChunkFile: then the file is brought up to date by save() only.
  bool create(const std::string& path, pid_t pid, bool no_map, uint32_t max_slots) noexcept;

  // A slot to fill in by open(); 0: none to be had, which short_of_slots() tells from then on.
  uint32_t take_slot() noexcept;
  // One of those that take_slot() leaves; 0: all are taken.
  uint32_t take_reserved_slot() noexcept;
  // The slot is free for another blocker.
  void give_back(uint32_t slot) noexcept;
  bool short_of_slots() const noexcept { return short_.load(std::memory_order_relaxed); }
  uint32_t slots() const noexcept;  // used so far; slots that are free again are among them
  uint32_t max_slots() const noexcept { return max_slots_; }

  struct Facts {
    uint32_t blocker_id;
    uint32_t identity_hash;
    uint32_t class_index;
    uint16_t kind;
    uint32_t first_java_id;
    uint32_t first_stack_id;
    uint64_t parked_before;  // below the threshold
  };
  void open(uint32_t slot, const Facts& facts) noexcept;
  // The least that a slot needs to be looked at; may be said again at any time.
  void set_kind(uint32_t slot, uint16_t kind) noexcept;

  // A thread blocks, goes on. Both return the time that counts (see above).
  // `is_more`: of a wait that is counted already.
  int64_t begin(uint32_t slot, int64_t now_ns, bool is_more = false) noexcept;
  bool has_waits(uint32_t slot) noexcept;
  int64_t end(uint32_t slot, int64_t now_ns) noexcept;
  void add_hold(uint32_t slot, int64_t hold_ns) noexcept;

  void mark_dead(uint32_t slot) noexcept;
  // Adds the sums of a dead blocker to those of `into` and frees its slot; false while a thread still blocks on it.
  bool fold(uint32_t slot, uint32_t into) noexcept;
  // Brings the times of all waits that go on up to `now_ns`.
  void close_times(int64_t now_ns) noexcept;

  // The number of a class by its name; 0 where there are too many.
  uint32_t class_index(std::string_view name) noexcept;
  std::string_view class_name_of(uint32_t index) const noexcept { return class_name(index); }

  void count_dropped() noexcept { add(&hw_lock_header::dropped); }
  void count_below_threshold() noexcept { add(&hw_lock_header::below_threshold); }
  void count_untimed(uint32_t holds) noexcept { add(&hw_lock_header::untimed_holds, holds); }
  void set_capped(int64_t now_ns) noexcept;
  void set_updated(int64_t now_ns, uint64_t threads_parked) noexcept;

  // Without a mapping: writes what the file lacks. Does nothing with one.
  void save() noexcept;
  // Lets go of the file while threads may still be updating; what they store from then on goes nowhere.
  void release() noexcept;
  // The pages no longer count as the program's memory until somebody needs them again (ChunkFile). Any time.
  void let_pages_go() const noexcept;

  hw_lock_slot slot_now(uint32_t slot) const noexcept;  // a copy that is whole

  // Somebody has cut the file off, or the disk has lost a part of it: the sums are lost.
  bool is_cut() const noexcept { return cut_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kClassPlaces = 2 * HW_LOCK_CLASSES;

  bool map_file() noexcept;
  void write_header(pid_t pid) noexcept;
  bool ensure_backed(uint64_t end) noexcept;
  bool extend() noexcept;
  bool same_file() const noexcept;
  bool is_whole(uint64_t bytes) noexcept;
  bool has_marked_slot() noexcept;
  void look_at_file() noexcept;
  bool write_at(uint64_t offset, const void* data, size_t bytes) noexcept;
  hw_lock_header header_now() const noexcept;
  uint32_t next_slot(uint32_t bound) noexcept;
  uint32_t pop_free() noexcept;
  void add(hw_u64 hw_lock_header::*counter, hw_u64 count = 1) noexcept;
  hw_lock_header* header() const noexcept { return reinterpret_cast<hw_lock_header*>(base_); }
  hw_lock_slot& at(uint32_t slot) const noexcept { return reinterpret_cast<hw_lock_slot*>(base_ + kSlotsAt)[slot]; }
  char* class_name(uint32_t index) const noexcept {
    return reinterpret_cast<char*>(base_ + HW_HEADER_BYTES) + size_t{index} * HW_LOCK_CLASS_BYTES;
  }

  std::byte* base_ = nullptr;  // what every wait needs
  int fd_ = -1;
  dev_t dev_ = 0;
  ino_t ino_ = 0;
  uint64_t map_bytes_ = 0;
  uint64_t mapped_bytes_ = 0;  // less, once released
  uint32_t max_slots_ = 0;
  bool through_ = false;  // base_ is anonymous memory; save() writes it
  FileGuard guard_;       // of base_, unless through_
  std::atomic<bool> cut_{false};
  std::atomic<uint32_t> marked_{0};  // the last slot in the file that was opened; 0: none
  bool spoilt_ = false;
  std::atomic<uint32_t> next_{1};
  std::atomic<uint64_t> free_{0};  // the first free slot, and a count of changes in the upper half
  std::atomic<uint64_t> limit_{0};
  std::atomic<bool> extending_{false};
  std::atomic<bool> full_{false};  // of the disk
  std::atomic<bool> short_{false};
  std::atomic<bool> released_{false};
  SpinLock classes_lock_;
  uint32_t classes_ = 1;  // 0 has no name
  Arena<std::atomic<uint16_t>> class_places_;
};

}  // namespace headway::agent
