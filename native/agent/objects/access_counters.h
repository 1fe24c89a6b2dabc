// Counters of reads and writes: numbers for those that classes need, and for each thread a block of memory with all of
// them, in which that thread alone adds. Java code adds there by itself (hooks/java.base/java/lang/HeadwayCount0.java).
//
// Knows nothing of the JVM.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "agent/classfile/access_pieces.h"
#include "agent/objects/access_windows.h"
#include "agent/objects/object_ids.h"
#include "agent/objects/owner_rules.h"
#include "wire/records.h"

namespace headway::agent {

class AccessCounters {
 public:
  // Numbers are from -32,768 to 32,767: an instruction has room for 16 bits.
  static constexpr uint32_t kCounters = 1U << 16;
  static constexpr uint32_t kSlots = 1U << 16;
  static constexpr uint32_t kMostBlocks = 1U << 13;  // threads that count at the same time
  // Rows of accesses by owner, one for each class and kind of access to objects.
  static constexpr uint32_t kOwnedRows = 1U << 16;
  // Numbers of owners: threads have those between; their objects' hashes have room for eight bits.
  static constexpr uint32_t kUnknownOwner = 0, kVirtualOwner = 1, kForeignOwner = 255;
  static constexpr uint32_t kMostRows = 1U << 16;  // of one thread and class; what comes later goes to rows of a class

  AccessCounters() = default;
  ~AccessCounters();  // no code counts any more
  AccessCounters(const AccessCounters&) = delete;
  AccessCounters& operator=(const AccessCounters&) = delete;

  // Takes the table that leads from keys to blocks, once. False: no memory. `rules`: by which blocks have room for accesses
  // by owner. `ids`: where threads that end give back the numbers for objects that they have left. `with_nodes`: blocks have
  // room for when which accesses are sampled next.
  bool start(OwnerRules rules = {}, ObjectIds* ids = nullptr, bool with_nodes = false) noexcept;

  // Counts in windows (access_windows.h), the first of which is open from now on; not with owners. Once, behind start().
  void start_windows() noexcept;
  bool has_windows() const noexcept { return windows_.is_on(); }
  // A byte for each counter, as they are now.
  std::vector<uint8_t> switches() noexcept;
  uint32_t windows() const noexcept { return windows_.windows(); }
  void look_before_window() noexcept;
  void open_window() noexcept;
  void begin_window() noexcept;
  void end_window() noexcept;
  // Nothing is counted any more.
  void end_windows() noexcept;

  // The number of the first of the counters of a class, which has one for each of `counts`; the others follow. A class
  // that comes again has the same. None: there is no room. `class_id`: the class's number for records.
  std::optional<int32_t> number_of(uint32_t class_id, std::span<const AccessCounts> counts) noexcept;

  // The number of the first row of a class, which has one for each kind of access to objects. None: there is no room.
  std::optional<int32_t> rows_of(uint32_t class_id) noexcept;
  // The number of the class that has a row, as instructions name it. 0: none.
  uint32_t class_of_row(int32_t row) noexcept;
  // The id of the thread that has a number as an owner; 0: it is unknown.
  uint64_t id_of_owner(uint32_t owner) noexcept;
  // The thread of a key, as records have it.
  static uint64_t java_id(int64_t key) noexcept;

  // The address of the table of blocks: a thread of key k finds its block's middle at k % kSlots, if that block's key is k.
  uint64_t slots() const noexcept { return reinterpret_cast<uint64_t>(slots_); }
  // The address of the middle of the calling thread's block; a key is the thread's id, or with all bits turned over that
  // of a carrier while it runs a virtual thread. Where there are too many threads it is one that is not looked at.
  uint64_t find(int64_t key) noexcept;

  // Hands on the sums of the calling thread, which counts no more, by write(hw_access), and by owner by
  // write(hw_access_owners) and write(hw_access_pair), whose types say by which rule.
  template <typename Write>
  void thread_ends(int64_t key, Write write) noexcept {
    const std::lock_guard locked(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    Block& block = blocks_[found->second];
    if (block.windowed != nullptr) windows_.end_thread(counting_of(block), next_counter_);
    write_parts(block, true, write);
    release(found->second);
    by_key_.erase(found);
  }

  // Hands on the sums that have changed since they were handed on last; returns how many. `is_last`: also what is in rows
  // of classes for all threads.
  template <typename Write>
  uint32_t write_changed(bool is_last, Write write) noexcept {
    const std::lock_guard locked(mutex_);
    uint32_t written = 0;
    for (const auto& [key, number] : by_key_) {
      written += write_parts(blocks_[number], is_last, write);
    }
    return written + write_rest(write);
  }

  // How many numbers owners have, those of unknown ones and of virtual threads included.
  uint32_t owners() const noexcept { return next_owner_; }
  uint32_t owners_left_out() const noexcept { return owners_left_out_; }
  // Whether rows of threads that count in windows are in none, or in those of all threads.
  bool has_full_rows() const noexcept { return rows_ >= kMostRows; }
  uint32_t threads_left_out() const noexcept { return static_cast<uint32_t>(left_out_.size()); }

 private:
  // Of each kind; then, by each rule, those of objects with a known owner: the thread's own, another one's.
  static constexpr size_t kOfRule = size_t{2} * HW_OWNED_KINDS, kSums = kAccesses + kOwnerRules * kOfRule;
  static constexpr size_t local_at(size_t rule) noexcept { return kAccesses + rule * kOfRule; }
  static constexpr size_t shared_at(size_t rule) noexcept { return local_at(rule) + HW_OWNED_KINDS; }
  using Sums = std::array<uint64_t, kSums>;
  using Pair = std::array<uint64_t, HW_OWNED_KINDS>;  // one thread's accesses to one owner's objects, of each kind
  // Which counters are those of a class.
  struct Counted {
    uint32_t class_id;
    uint32_t first;  // from 0 on
    std::vector<AccessCounts> counts;
  };
  struct Block {
    unsigned char* memory;
    uint64_t* counters = nullptr;
    int64_t key = 0;
    uint32_t serial = 0;
    uint32_t owner = kUnknownOwner;                // the number of its thread as an owner
    std::map<uint32_t, uint64_t> written{};        // by class_id: the sum of all sums, when they were handed on last
    std::map<uint32_t, uint64_t> pairs_written{};  // likewise, by rule and owner
    std::unique_ptr<WindowedThread> windowed{};    // null: everything is counted
    std::vector<Block> by_group{};                 // what was counted in windows, as if it were other blocks'
    std::array<uint64_t, WindowedThread::kAll> work_written{};
  };

  AccessWindows::Counting counting_of(const Block& block) const noexcept {
    return {block.windowed.get(), counters_of(block)};
  }
  std::vector<AccessWindows::Counting> all_counting() const noexcept;
  bool begin_windowed(Block& block, int64_t key) noexcept;
  hw_access_window window_of(const Block& block, uint32_t group) const noexcept;

  static uint64_t* counters_of(const Block& block) noexcept;
  static void set_key(Block& block, int64_t key) noexcept;
  unsigned char* take_memory() const noexcept;
  size_t block_bytes() const noexcept;
  uint32_t owner_of_key(int64_t key) noexcept;
  void add_owned(const Block& block, size_t rule, bool adds_all, std::map<uint32_t, Sums>& sums) const noexcept;
  Pair pair_of(const Block& block, size_t rule, uint32_t owner) const noexcept;
  // By which a rule's accesses to one owner's objects are known in maps.
  static uint32_t pair_key(size_t rule, uint32_t owner) noexcept {
    return static_cast<uint32_t>(rule) * (kForeignOwner + 1) + owner;
  }
  std::optional<uint32_t> take_block() noexcept;
  void release(uint32_t number) noexcept;
  void give_ids_back(const Block& block) const noexcept;
  std::map<uint32_t, Sums> sums_of(const Block& block) const noexcept;
  // Whether sums may have a row of their own; else they are added to those of the class for all threads.
  bool has_row(Block& block, uint32_t class_id) noexcept;
  bool has_pair_row(Block& block, uint32_t key) noexcept;
  static hw_access record_of(uint64_t java_id, uint32_t class_id, uint32_t serial, const Sums& sums) noexcept;
  static hw_access_owners owners_of(const hw_access& record, size_t rule, const Sums& sums) noexcept;
  static uint64_t total(const Sums& sums) noexcept;

  // Of a thread that counts in windows by group, and what it did in each.
  template <typename Write>
  uint32_t write_parts(Block& block, bool is_last, Write write) noexcept {
    if (block.windowed == nullptr) return write_block(block, is_last, write) + write_pairs(block, is_last, write);
    uint32_t written = 0;
    for (uint32_t group = 0; group < block.by_group.size(); ++group) {
      written += write_block(block.by_group[group], is_last && group == 0, write);
      if constexpr (std::is_invocable_v<Write, hw_access_window>) {
        const hw_access_window record = window_of(block, group);
        const uint64_t sum = record.sums[HW_CPU_IN] + record.sums[HW_CPU_BETWEEN] + record.sums[HW_MARKS];
        if (sum == block.work_written[group]) continue;
        block.work_written[group] = sum;
        write(record);
        ++written;
      }
    }
    return written;
  }

  template <typename Write>
  uint32_t write_block(Block& block, bool is_last, Write write) noexcept {
    uint32_t written = 0;
    for (const auto& [class_id, sums] : sums_of(block)) {
      if (has_row(block, class_id)) {
        uint64_t& before = block.written[class_id];
        if (before == total(sums)) continue;
        before = total(sums);
        written += write_sums(record_of(java_id(block.key), class_id, block.serial, sums), sums, write);
      } else if (is_last) {
        Sums& rest = rest_[class_id];
        for (size_t kind = 0; kind < kSums; ++kind) rest[kind] += sums[kind];
      }
    }
    return written;
  }

  template <typename Write>
  uint32_t write_sums(const hw_access& record, const Sums& sums, Write write) noexcept {
    write(record);
    uint32_t written = 1;
    for (size_t rule = 0; rule < kOwnerRules; ++rule) {
      if (!rules_.has(rule)) continue;
      if constexpr (std::is_invocable_v<Write, hw_access_owners>) write(owners_of(record, rule, sums));
      ++written;
    }
    return written;
  }

  // Those of a thread with all owners that it has met; beyond kMostRows they are added to those of all threads.
  template <typename Write>
  uint32_t write_pairs(Block& block, bool is_last, Write write) noexcept {
    uint32_t written = 0;
    if constexpr (std::is_invocable_v<Write, hw_access_pair>) {
      for (uint32_t key = 0; rules_.any() && key < pair_key(kOwnerRules, 0); ++key) {
        const size_t rule = key / pair_key(1, 0);
        const Pair counts = rules_.has(rule) ? pair_of(block, rule, key % pair_key(1, 0)) : Pair{};
        if (counts == Pair{}) continue;
        if (has_pair_row(block, key)) {
          written += write_pair(java_id(block.key), key, block.serial, counts, block.pairs_written[key], write);
        } else if (is_last) {
          Pair& rest = rest_pairs_[key];
          for (size_t kind = 0; kind < HW_OWNED_KINDS; ++kind) rest[kind] += counts[kind];
        }
      }
    }
    return written;
  }

  template <typename Write>
  uint32_t write_pair(uint64_t java_id, uint32_t key, uint32_t serial, const Pair& counts, uint64_t& before,
                      Write write) noexcept {
    const uint64_t sum = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    if (sum == before) return 0;
    before = sum;
    const uint32_t owner = key % pair_key(1, 0);
    hw_access_pair record{};
    record.head.type = key == owner ? HW_ACCESS_PAIR : HW_ACCESS_WRITER_PAIR;
    record.java_id = java_id;
    record.owner_id = owner == kForeignOwner ? HW_FOREIGN_OWNER : owner_ids_[owner];
    record.block = serial;
    std::ranges::copy(counts, record.counts);
    write(record);
    return 1;
  }

  template <typename Write>
  uint32_t write_rest(Write write) noexcept {
    uint32_t written = 0;
    for (const auto& [class_id, sums] : rest_) {
      uint64_t& before = rest_written_[class_id];
      if (before == total(sums)) continue;
      before = total(sums);
      written += write_sums(record_of(HW_MANY_THREADS, class_id, 0, sums), sums, write);
    }
    if constexpr (std::is_invocable_v<Write, hw_access_pair>) {
      for (const auto& [key, counts] : rest_pairs_) {
        written += write_pair(HW_MANY_THREADS, key, 0, counts, rest_pairs_written_[key], write);
      }
    }
    return written;
  }

  std::mutex mutex_;
  AccessWindows windows_;
  uint64_t* slots_ = nullptr;
  unsigned char* nobodys_ = nullptr;  // a block that no key fits
  std::vector<Counted> counted_;
  std::map<uint32_t, std::vector<size_t>> of_class_;  // in counted_, by class_id
  uint32_t next_counter_ = 0;
  std::deque<Block> blocks_;  // their memory is never freed while code of the program may count there
  std::vector<uint32_t> free_;
  std::unordered_map<int64_t, uint32_t> by_key_;
  std::set<int64_t> left_out_;  // the first ones
  OwnerRules rules_;
  ObjectIds* ids_ = nullptr;
  bool has_nodes_ = false;
  std::map<uint32_t, uint32_t> owned_;                                        // a class's first row, from 0 on
  std::vector<uint32_t> row_classes_;                                         // of each HW_OWNED_KINDS rows
  std::array<uint64_t, kForeignOwner + 1> owner_ids_{0, HW_VIRTUAL_THREADS};  // by number
  uint32_t next_owner_ = kVirtualOwner + 1;
  uint32_t owners_left_out_ = 0;
  uint32_t serial_ = 0;
  uint32_t rows_ = 0;
  std::map<uint32_t, Sums> rest_;
  std::map<uint32_t, uint64_t> rest_written_;
  uint32_t pair_rows_ = 0;
  std::map<uint32_t, Pair> rest_pairs_;  // by rule and owner
  std::map<uint32_t, uint64_t> rest_pairs_written_;
};

}  // namespace headway::agent
