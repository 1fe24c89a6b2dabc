// A recording of locks for tests, of objects that are no more than numbers, and what its files say in the end.
#pragma once

#include "agent/locks/lock_records.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "testing/check.h"
#include "testing/scratch.h"

namespace headway::agent {

constexpr pid_t kPid = 4711;

// An object; collected: gone. Several may have one hash, as in the JVM.
struct Thing {
  explicit Thing(uint32_t with_hash) : Thing(with_hash, with_hash % 3) {}
  Thing(uint32_t with_hash, uint32_t of) : hash(with_hash), type(of) {}
  uint32_t hash;
  uint32_t type;  // the number of its class
  std::atomic<bool> collected{false};
};

inline uint32_t class_hash(const Thing& thing) { return 1000 + thing.type; }

inline uintptr_t address_of(const Thing* thing) { return reinterpret_cast<uintptr_t>(thing); }

// Weak references to things: freed ones must never be looked at, which the sanitizers see.
struct Weak {
  Thing* thing;
  uint32_t of;
};

class Things final : public JavaSide {
 public:
  bool same(Identity::Ref ref, Object object) noexcept override {
    ++compared;
    const auto* weak = reinterpret_cast<const Weak*>(ref);
    return weak->thing == object && !weak->thing->collected;
  }
  bool is_collected(Identity::Ref ref) noexcept override {
    return reinterpret_cast<const Weak*>(ref)->thing->collected;
  }
  Identity::Ref keep_weakly(Object object) noexcept override {
    ++references;
    auto* weak = new (std::nothrow) Weak{static_cast<Thing*>(object), static_cast<Thing*>(object)->type};
    CHECK(weak != nullptr);
    return reinterpret_cast<Identity::Ref>(weak);
  }
  void let_go(Identity::Ref ref) noexcept override {
    --((ref & kClass) != 0 ? classes : references);
    delete reinterpret_cast<Weak*>(ref & ~kClass);
  }
  Identity::Ref keep_class_weakly(Object object) noexcept override {
    --references;  // counted apart: it is kept until the end
    ++classes;
    return keep_weakly(object) | kClass;
  }
  bool is_of(Identity::Ref type, Object object) noexcept override {
    return reinterpret_cast<const Weak*>(type - kClass)->of == static_cast<const Thing*>(object)->type;
  }
  size_t class_name(Object object, char* out, size_t capacity) noexcept override {
    const uint32_t type = static_cast<const Thing*>(object)->type;
    const std::string own = type == kClassObjects ? std::string(kClassObject) : "test.Class" + std::to_string(type);
    const std::string name = type == kIntArray ? "int[]" : own;
    const size_t length = std::min(capacity, name.size());
    std::copy_n(name.begin(), length, out);
    return length;
  }
  size_t class_lock_name(Object object, char* out, size_t capacity) noexcept override {
    const auto* thing = static_cast<const Thing*>(object);
    CHECK_EQUAL(thing->type, kIntArray);
    const std::string known = std::string(kClassLock) + " for C" + std::to_string(thing->hash);
    const std::string name = thing->hash == kOfProgram ? "" : known;
    return name.copy(out, capacity);
  }
  size_t class_object_name(Object object, char* out, size_t capacity) noexcept override {
    const auto* thing = static_cast<const Thing*>(object);
    CHECK_EQUAL(thing->type, kClassObjects);
    return ("test.Named" + std::to_string(thing->hash)).copy(out, capacity);
  }
  size_t thread_name(char* out, size_t) noexcept override {
    out[0] = 'T';
    return 1;
  }
  uint32_t take_stack() noexcept override {
    ++stacks;
    return 77;
  }
  uint32_t monitor_owner(Identity::Ref ref) noexcept override {
    ++owners_asked_for;
    return 1000 + reinterpret_cast<const Weak*>(ref)->thing->hash;
  }

  static constexpr uint32_t kIntArray = 500;      // a Thing's type
  static constexpr uint32_t kClassObjects = 501;  // the type of a Thing that stands for a class
  static constexpr uint32_t kOfProgram = 900;     // the hash of an int[] that is no lock of the JVM's
  static constexpr Identity::Ref kClass = 1;      // marks a reference to a class
  static inline std::atomic<int64_t> references{0};
  static inline std::atomic<int64_t> classes{0};
  static inline std::atomic<uint64_t> stacks{0};
  static inline std::atomic<uint64_t> compared{0};
  static inline std::atomic<uint64_t> owners_asked_for{0};
};

// A thread's own: as in the agent, thread-local there.
struct Thread {
  Thread() { locks.place.tid = static_cast<uint32_t>(syscall(SYS_gettid)); }
  LockThread locks;
  Things java;
};

struct Recorded {
  std::vector<hw_blocker> blockers;
  std::vector<std::string> class_names;  // of each of them
  std::vector<hw_blocker_dead> dead;
  std::vector<hw_block> blocks;
  std::vector<hw_hold> holds;
  uint32_t capped = 0;
};

template <typename Record>
void take(std::vector<Record>& records, const char* at) {
  Record record{};
  std::memcpy(&record, at, sizeof(record));
  records.push_back(record);
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline Recorded read_spool(const std::string& path) {
  const std::string data = bytes_of(path);
  Recorded all;
  for (size_t at = HW_HEADER_BYTES; at + sizeof(hw_agent_chunk) <= data.size(); at += ChunkFile::kChunkBytes) {
    hw_agent_chunk chunk{};
    std::memcpy(&chunk, data.data() + at, sizeof(chunk));
    for (size_t r = sizeof(chunk); r < chunk.used;) {
      const char* record = data.data() + at + r;
      hw_record head{};
      std::memcpy(&head, record, sizeof(head));
      CHECK(head.size > 0);
      if (head.type == HW_BLOCKER) {
        take(all.blockers, record);
        all.class_names.emplace_back(record + sizeof(hw_blocker), all.blockers.back().class_bytes);
      }
      if (head.type == HW_BLOCKER_DEAD) take(all.dead, record);
      if (head.type == HW_BLOCK) take(all.blocks, record);
      if (head.type == HW_HOLD) take(all.holds, record);
      if (head.type == HW_LOCKS_CAPPED) ++all.capped;
      r += head.size;
    }
  }
  return all;
}

struct Table {
  hw_lock_header header{};
  std::vector<hw_lock_slot> slots;  // used ones

  const hw_lock_slot& of(uint32_t blocker_id) const {
    for (const hw_lock_slot& slot : slots) {
      if (slot.blocker_id == blocker_id) return slot;
    }
    CHECK(!"a blocker without a slot");
    return slots.front();
  }
  uint64_t sum(hw_u64 hw_lock_slot::*field) const {
    uint64_t all = 0;
    for (const hw_lock_slot& slot : slots) all += slot.*field;
    return all;
  }
};

inline Table read_table(const std::string& path) {
  const std::string data = bytes_of(path);
  Table table;
  CHECK(data.size() >= LockTable::kSlotsAt);
  std::memcpy(&table.header, data.data(), sizeof(table.header));
  for (uint32_t i = 1; i < table.header.slots; ++i) {
    hw_lock_slot slot{};
    std::memcpy(&slot, data.data() + LockTable::kSlotsAt + i * sizeof(slot), sizeof(slot));
    if (slot.kind != 0) table.slots.push_back(slot);
  }
  return table;
}

// A recording with its files in a directory of its own, which is made first and goes last.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class Recording {
 public:
  explicit Recording(LockRecords::Options options = {}, uint64_t file_bytes = 64ULL << 20)
      : locks_(std::make_unique<LockRecords>()) {
    static uint32_t number = 0;
    options.rest_per_look = 0;
    options.patience_ns = 60'000'000'000;
    CHECK(file_.create(scratch_.path(), kPid, options.no_map, file_bytes));
    CHECK(locks_->start(file_, kPid, ++number, options));
  }
  ~Recording() {
    if (!ended_) end();
    CHECK_EQUAL(Things::references.load(), 0);
    CHECK_EQUAL(Things::classes.load(), 0);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  LockRecords& operator*() { return *locks_; }
  LockRecords* operator->() { return locks_.get(); }
  void end() {
    Thread thread;
    locks_->end(&thread.java, thread.locks);
    ended_ = true;
  }
  // A garbage collection, and enough looks for all that it freed.
  void collect() {
    Thread thread;
    ++collections_;
    for (int i = 0; i < 4; ++i) locks_->poll(thread.java, thread.locks, collections_);
  }
  Recorded spool() const { return read_spool(scratch_.path() + "/agent-4711.spool"); }
  Table table() const { return read_table(scratch_.path() + "/locks-4711.table"); }

 private:
  Scratch scratch_;
  ChunkFile file_;
  std::unique_ptr<LockRecords> locks_;
  uint64_t collections_ = 0;
  bool ended_ = false;
};

inline LockRecords::Beginning park(Thing* thing, uint32_t java_id, uint32_t owner = 0, uint32_t flags = 0) {
  if (thing == nullptr) return {HW_BK_PARK, nullptr, 0, 0, 0, java_id, owner, flags};
  return {HW_BK_PARK, thing, address_of(thing), thing->hash, class_hash(*thing), java_id, owner, flags};
}

// Sums of every blocker and of the blocks that were recorded of it, which must be the same.
inline void check_sums_against_blocks(const Recorded& all, const Table& table) {
  struct Sums {
    uint64_t blocks = 0;
    uint64_t thread_time_ns = 0;
    std::vector<std::pair<int64_t, int>> events;
  };
  std::map<uint32_t, Sums> by_blocker;
  for (const hw_block& block : all.blocks) {
    Sums& sums = by_blocker[block.blocker_id];
    ++sums.blocks;
    sums.thread_time_ns += static_cast<uint64_t>(block.head.ts_ns - block.start_ns);
    sums.events.emplace_back(block.start_ns, 1);
    sums.events.emplace_back(block.head.ts_ns, -1);
  }
  for (auto& [blocker_id, sums] : by_blocker) {
    std::sort(sums.events.begin(), sums.events.end());
    uint64_t real_time_ns = 0;
    int parked = 0;
    for (size_t i = 0; i < sums.events.size(); ++i) {
      if (i > 0 && parked > 0) real_time_ns += static_cast<uint64_t>(sums.events[i].first - sums.events[i - 1].first);
      parked += sums.events[i].second;
    }
    const hw_lock_slot& slot = table.of(blocker_id);
    CHECK_EQUAL(slot.times_parked, sums.blocks);
    CHECK_EQUAL(slot.thread_time_ns, sums.thread_time_ns);
    CHECK_EQUAL(slot.real_time_ns, real_time_ns);
  }
}

}  // namespace headway::agent
