// What is recorded of locks, put to the test with objects that are no more than numbers: who an object is, whose waits
// and holds they were, what the file and the table say of them in the end.
#include "agent/lock_records.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "agent/clock.h"
#include "check.h"
#include "scratch.h"

using headway::agent::ChunkFile;
using headway::agent::Identity;
using headway::agent::JavaSide;
using headway::agent::LockRecords;
using headway::agent::LockTable;
using headway::agent::LockThread;
using headway::agent::monotonic_ns;
using headway::agent::Object;
using headway::agent::ThreadSlot;
using headway::agent::Waits;

namespace {

constexpr pid_t kPid = 4711;

// An object; collected: gone. Several may have one hash, as in the JVM.
struct Thing {
  explicit Thing(uint32_t with_hash) : hash(with_hash) {}
  uint32_t hash;
  std::atomic<bool> collected{false};
};

// Weak references to things: freed ones must never be looked at, which the sanitizers see.
struct Weak {
  Thing* thing;
};

class Things final : public JavaSide {
 public:
  bool same(Identity::Ref ref, Object object) noexcept override {
    const auto* weak = reinterpret_cast<const Weak*>(ref);
    return weak->thing == object && !weak->thing->collected;
  }
  bool is_gone(Identity::Ref ref) noexcept override { return reinterpret_cast<const Weak*>(ref)->thing->collected; }
  Identity::Ref keep_weakly(Object object) noexcept override {
    ++references;
    auto* weak = new (std::nothrow) Weak{static_cast<Thing*>(object)};
    CHECK(weak != nullptr);
    return reinterpret_cast<Identity::Ref>(weak);
  }
  void let_go(Identity::Ref ref) noexcept override {
    --references;
    delete reinterpret_cast<Weak*>(ref);
  }
  size_t class_name(Object object, char* out, size_t capacity) noexcept override {
    const std::string name = "test.Class" + std::to_string(static_cast<const Thing*>(object)->hash % 3);
    const size_t length = std::min(capacity, name.size());
    std::copy_n(name.begin(), length, out);
    return length;
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

  static inline std::atomic<int64_t> references{0};
  static inline std::atomic<uint64_t> stacks{0};
  static inline std::atomic<uint64_t> owners_asked_for{0};
};

// A thread's own: as in the agent, thread-local there.
struct Thread {
  Thread() {
    place.tid = static_cast<uint32_t>(syscall(SYS_gettid));
    locks.place = &place;
  }
  ThreadSlot place;
  LockThread locks;
  Things java;
};

struct Recorded {
  std::vector<hw_blocker> blockers;
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

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Recorded read_spool(const std::string& path) {
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
      if (head.type == HW_BLOCKER) take(all.blockers, record);
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

Table read_table(const std::string& path) {
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

// A recording with its files in a directory of its own.
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
    for (int i = 0; i < 4; ++i) locks_->look_after(thread.java, thread.locks, collections_);
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

LockRecords::Beginning park(Thing* thing, uint32_t java_id, uint32_t owner = 0, uint32_t flags = 0) {
  return {HW_BK_PARK, thing, thing == nullptr ? 0 : thing->hash, java_id, owner, flags};
}

void a_wait_becomes_a_record_with_its_blocker_its_owner_and_its_waker() {
  Recording recording;
  Thread waiter;
  Thread waker;
  Thing lock{5};
  const int64_t before = monotonic_ns();
  const Waits::Handle wait = recording->wait_begins(waiter.java, waiter.locks, park(&lock, 11, 12, HW_BL_TIMED));
  CHECK(wait != 0);
  recording->waking(waker.java, waker.locks, 99, 12);  // who does not wait
  recording->waking(waker.java, waker.locks, 11, 12);
  recording->waking(waker.java, waker.locks, 11, 13);  // too late
  recording->wait_ends(waiter.locks, wait, HW_BL_PINNED);
  recording->wait_ends(waiter.locks, wait, 0);  // in vain
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blockers.size(), 1u);
  CHECK_EQUAL(all.blockers[0].identity_hash, 5u);
  CHECK_EQUAL(all.blockers[0].first_java_id, 11u);
  CHECK_EQUAL(all.blockers[0].first_stack_id, 77u);
  CHECK_EQUAL(all.blocks.size(), 1u);
  const hw_block& block = all.blocks[0];
  CHECK_EQUAL(block.blocker_id, all.blockers[0].blocker_id);
  CHECK(before <= block.start_ns && block.start_ns <= block.waking_ns && block.waking_ns <= block.head.ts_ns);
  CHECK_EQUAL(block.java_id, 11u);
  CHECK_EQUAL(block.waker_java_id, 12u);
  CHECK_EQUAL(block.waker_stack_id, 77u);
  CHECK_EQUAL(block.owner_java_id, 12u);
  CHECK_EQUAL(block.flags, HW_BL_TIMED | HW_BL_PINNED);
  CHECK_EQUAL(block.stack_id, 77u);
  CHECK_EQUAL(block.weight, 1u);
  const Table table = recording.table();
  CHECK_EQUAL(table.of(block.blocker_id).times_parked, 1u);
}

void objects_of_one_hash_and_uses_of_one_object_are_told_apart() {
  Recording recording;
  Thread thread;
  Thing one{5};
  Thing other{5};
  for (int i = 0; i < 3; ++i) {
    for (Thing* thing : {&one, &other, static_cast<Thing*>(nullptr)}) {
      recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(thing, 1)), 0);
    }
    LockRecords::Beginning as_monitor = park(&one, 1);
    as_monitor.kind = HW_BK_MONITOR;
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, as_monitor), 0);
  }
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blockers.size(), 3u);
  CHECK_EQUAL(all.blocks.size(), 12u);
  const Table table = recording.table();
  for (const hw_blocker& blocker : all.blockers) CHECK_EQUAL(table.of(blocker.blocker_id).times_parked, 3u);
  CHECK_EQUAL(table.of(0).times_parked, 3u);  // without a blocker
}

// Sums of every blocker and of the blocks that were recorded of it, which must be the same.
void check_sums_against_blocks(const Recorded& all, const Table& table) {
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

void the_sums_of_64_threads_are_those_of_their_blocks_open_ones_too(bool no_map) {
  LockRecords::Options options;
  options.no_map = no_map;
  Recording recording(options);
  constexpr uint32_t kThreads = 64;
  constexpr int kRounds = 200;
  std::vector<std::unique_ptr<Thing>> things;
  for (uint32_t i = 0; i < 6; ++i) things.push_back(std::make_unique<Thing>(i / 2));
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&, t] {
      Thread self;
      std::mt19937 random(t);
      for (int round = 0; round < kRounds; ++round) {
        Thing* thing = random() % 8 == 0 ? nullptr : things[random() % things.size()].get();
        const Waits::Handle wait = recording->wait_begins(self.java, self.locks, park(thing, t));
        CHECK(wait != 0);
        if (random() % 4 == 0) std::this_thread::yield();
        recording->waking(self.java, self.locks, static_cast<uint32_t>(1 + random() % kThreads), t);
        if (round + 1 < kRounds || t % 8 != 0) recording->wait_ends(self.locks, wait, 0);
        if (thing == nullptr) continue;
        recording->hold_begins(self.java, self.locks, thing, thing->hash, t);
        recording->hold_ends(self.java, self.locks, thing, thing->hash, t);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  recording.end();
  const Recorded all = recording.spool();
  const Table table = recording.table();
  CHECK_EQUAL(all.blocks.size(), size_t{kThreads} * kRounds);
  CHECK_EQUAL(all.blockers.size(), things.size());  // each once, whoever came first
  check_sums_against_blocks(all, table);
  const auto open = std::count_if(all.blocks.begin(), all.blocks.end(),
                                  [](const hw_block& block) { return (block.flags & HW_BL_OPEN) != 0; });
  CHECK_EQUAL(open, 8);
  CHECK_EQUAL(table.sum(&hw_lock_slot::holds), all.holds.size());
  CHECK_EQUAL(table.header.threads_parked, 8u);
  for (const hw_block& block : all.blocks) CHECK((block.stack_id != 0) == (block.weight != 0));
}

void monitors_waited_for_long_at_the_end_have_their_owners(int64_t long_wait_ns, bool is_long) {
  LockRecords::Options options;
  options.long_wait_ns = long_wait_ns;
  Recording recording(options);
  Thing first(1);
  Thing second(2);
  Thing parked(3);
  Thread self;
  const auto begin = [&](Thing& thing, uint16_t kind, uint32_t java_id, uint32_t owner) {
    const LockRecords::Beginning it{kind, &thing, thing.hash, java_id, owner, 0};
    return recording->wait_begins(self.java, self.locks, it);
  };
  begin(first, HW_BK_MONITOR, 1, 0);
  begin(first, HW_BK_MONITOR, 2, 0);
  begin(second, HW_BK_MONITOR, 3, 0);
  begin(second, HW_BK_WAIT, 4, 0);
  begin(parked, HW_BK_PARK, 5, 99);
  recording->wait_ends(self.locks, begin(second, HW_BK_MONITOR, 6, 0), 0);
  Things::owners_asked_for = 0;
  recording.end();
  CHECK_EQUAL(Things::owners_asked_for.load(), is_long ? 2u : 0u);
  std::array<uint32_t, 7> owners{};
  for (const hw_block& block : recording.spool().blocks) owners.at(block.java_id) = block.owner_java_id;
  const std::array<uint32_t, 7> expected = {0, 1001, 1001, 1002, 0, 99, 0};
  const std::array<uint32_t, 7> of_none = {0, 0, 0, 0, 0, 99, 0};
  CHECK(owners == (is_long ? expected : of_none));
}

void every_block_is_counted_by_one_stack_or_waits_for_the_next() {
  Recording recording;
  Thread thread;
  std::vector<std::unique_ptr<Thing>> things;
  for (uint32_t i = 0; i < 3; ++i) things.push_back(std::make_unique<Thing>(i));
  constexpr uint32_t kBlocks = 20'000;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    const auto begun = recording->wait_begins(thread.java, thread.locks, park(things[i % 3].get(), 1));
    recording->wait_ends(thread.locks, begun, 0);
  }
  recording.end();
  uint64_t weights = 0;
  uint64_t last = 0;
  const Recorded all = recording.spool();
  for (size_t i = 0; i < all.blocks.size(); ++i) {
    weights += all.blocks[i].weight;
    if (all.blocks[i].weight > 0) last = i + 1;
  }
  CHECK_EQUAL(weights, last);
  const int64_t took_ms = (all.blocks.back().head.ts_ns - all.blocks.front().start_ns) / 1'000'000;
  const auto stacks = static_cast<int64_t>(
      std::count_if(all.blocks.begin(), all.blocks.end(), [](const hw_block& b) { return b.stack_id != 0; }));
  CHECK(stacks >= 3 && stacks <= 32 + 256 + took_ms + 1);
}

void nested_waits_end_in_their_order_and_a_waking_is_the_parks() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  Thing monitor{2};
  const auto outer = recording->wait_begins(thread.java, thread.locks, park(&lock, 7));
  LockRecords::Beginning enter = park(&monitor, 7);
  enter.kind = HW_BK_MONITOR;
  const auto inner = recording->wait_begins(thread.java, thread.locks, enter);
  recording->waking(thread.java, thread.locks, 7, 8);
  recording->wait_ends(thread.locks, inner, 0);
  recording->wait_ends(thread.locks, outer, 0);
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 2u);
  CHECK_EQUAL(all.blocks[0].kind, HW_BK_MONITOR);
  CHECK_EQUAL(all.blocks[0].waker_java_id, 0u);
  CHECK_EQUAL(all.blocks[1].kind, HW_BK_PARK);
  CHECK_EQUAL(all.blocks[1].waker_java_id, 8u);
}

void waits_whose_end_nobody_tells_end_by_what_comes_next() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  const auto seen = [&](uint32_t java_id) {
    return recording->wait_begins(thread.java, thread.locks, park(&lock, java_id, 0, HW_BL_ATTACHED));
  };
  CHECK(seen(1) != 0 && seen(2) != 0 && seen(3) != 0);
  recording->waking(thread.java, thread.locks, 1, 9);
  recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, 2)), 0);
  recording->waiter_dies(thread.locks, 3);
  std::vector<Waits::Handle> lost;
  lost.reserve(20);
  for (int i = 0; i < 20; ++i) lost.push_back(recording->wait_begins(thread.java, thread.locks, park(&lock, 4)));
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 4u + 20u);
  for (int i : {0, 1, 3}) {
    const hw_block& block = all.blocks[static_cast<size_t>(i)];
    CHECK_EQUAL(block.flags, HW_BL_ATTACHED | HW_BL_END_GUESSED);
    CHECK_EQUAL(block.stack_id, 0u);
    CHECK_EQUAL(block.head.tid, 0u);
  }
  CHECK_EQUAL(all.blocks[0].waker_java_id, 9u);
  const auto guessed = std::count_if(all.blocks.begin(), all.blocks.end(),
                                     [](const hw_block& block) { return block.flags == HW_BL_END_GUESSED; });
  CHECK_EQUAL(guessed, 20 - static_cast<int>(Waits::kMostNested));
  check_sums_against_blocks(all, recording.table());
}

void a_wait_of_an_earlier_recording_ends_in_vain() {
  Waits::Handle old = 0;
  Thread thread;
  Thing lock{1};
  {
    Recording first;
    old = first->wait_begins(thread.java, thread.locks, park(&lock, 1));
  }
  Recording second;
  const auto wait = second->wait_begins(thread.java, thread.locks, park(&lock, 1));
  second->wait_ends(thread.locks, old, 0);
  second->wait_ends(thread.locks, wait, 0);
  second.end();
  CHECK_EQUAL(second->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0u);  // it is over
  CHECK_EQUAL(second.spool().blocks.size(), 1u);
}

void what_comes_on_top_of_a_call_of_the_same_thread_is_not_recorded() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  thread.locks.inside = true;  // as seen from a signal handler
  CHECK_EQUAL(recording->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0u);
  thread.locks.inside = false;
  CHECK(recording->wait_begins(thread.java, thread.locks, park(&lock, 1)) != 0);
}

void ten_thousand_threads_wait_on_one_lock() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  constexpr uint32_t kWaiters = 10'000;
  std::vector<Waits::Handle> waits;
  for (uint32_t i = 1; i <= kWaiters; ++i) {
    waits.push_back(recording->wait_begins(thread.java, thread.locks, park(&lock, i, 0, HW_BL_VIRTUAL)));
  }
  CHECK_EQUAL(std::set<Waits::Handle>(waits.begin(), waits.end()).size(), size_t{kWaiters});
  for (uint32_t i = 1; i <= kWaiters; ++i) recording->waking(thread.java, thread.locks, i, kWaiters + i);
  for (size_t i = 0; i < kWaiters / 2; ++i) recording->wait_ends(thread.locks, waits[i], 0);
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), size_t{kWaiters});
  for (const hw_block& block : all.blocks) CHECK_EQUAL(block.waker_java_id, kWaiters + block.java_id);
  const hw_lock_slot slot = recording.table().of(all.blockers.at(0).blocker_id);
  CHECK_EQUAL(slot.peak_parked, kWaiters);
  CHECK_EQUAL(slot.parked_now, kWaiters / 2);
  check_sums_against_blocks(all, recording.table());
}

void past_the_files_budget_only_the_sums_go_on() {
  Recording recording({}, HW_HEADER_BYTES + 4 * ChunkFile::kSegmentBytes);
  Thread thread;
  Thing lock{1};
  constexpr uint32_t kBlocks = 40'000;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0);
  }
  Thing late{2};
  recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&late, 1)), 0);
  recording.end();
  const Recorded all = recording.spool();
  const Table table = recording.table();
  CHECK_EQUAL(all.capped, 1u);
  CHECK(all.blocks.size() > 8'000 && all.blocks.size() < 16'000);
  CHECK(table.header.capped_ns >= all.blocks.back().head.ts_ns);
  CHECK_EQUAL(all.blockers.size(), 2u);  // they still find room
  CHECK_EQUAL(table.of(all.blockers[0].blocker_id).times_parked, kBlocks);
}

void a_full_disk_caps_too() {
  Recording recording({}, HW_HEADER_BYTES + ChunkFile::kSegmentBytes);
  Thread thread;
  Thing lock{1};
  for (uint32_t i = 0; i < 10'000; ++i) {
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0);
  }
  recording.end();
  const Table table = recording.table();
  CHECK(table.header.capped_ns != 0);
  CHECK_EQUAL(table.sum(&hw_lock_slot::times_parked), 10'000u);
}

void blockers_below_the_threshold_cost_no_slot_and_are_counted() {
  LockRecords::Options options;
  options.park_threshold = 10;
  Recording recording(options);
  Thread thread;
  std::vector<std::unique_ptr<Thing>> short_lived;
  Thing lock{1'000'000};
  for (uint32_t i = 0; i < 5'000; ++i) {
    short_lived.push_back(std::make_unique<Thing>(i));
    for (int park_of = 0; park_of < 3; ++park_of) {
      const auto wait = recording->wait_begins(thread.java, thread.locks, park(short_lived.back().get(), 1));
      recording->wait_ends(thread.locks, wait, 0);
    }
    if (i % 100 == 0)
      recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0);
  }
  CHECK_EQUAL(Things::references.load(), 1);
  recording.end();
  const Recorded all = recording.spool();
  const Table table = recording.table();
  CHECK_EQUAL(all.blockers.size(), 1u);
  const hw_lock_slot& slot = table.of(all.blockers[0].blocker_id);
  CHECK_EQUAL(slot.identity_hash, 1'000'000u);
  CHECK_EQUAL(slot.times_parked, 50u);
  CHECK_EQUAL(slot.times_measured, 40u);
  CHECK_EQUAL(all.blocks.size(), 40u);
  CHECK_EQUAL(table.header.below_threshold, 15'000u + 10u);
}

void dead_blockers_are_told_once_and_their_references_given_back() {
  Recording recording;
  Thread thread;
  Thing lives{1};
  Thing dies{2};
  for (Thing* thing : {&lives, &dies}) {
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(thing, 1)), 0);
  }
  recording.collect();
  CHECK_EQUAL(Things::references.load(), 2);
  dies.collected = true;
  recording.collect();
  recording.collect();
  CHECK_EQUAL(Things::references.load(), 1);
  Thing successor{2};  // another object with the same hash
  recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&successor, 1)), 0);
  recording.end();
  const Recorded all = recording.spool();
  const Table table = recording.table();
  CHECK_EQUAL(all.blockers.size(), 3u);
  CHECK_EQUAL(all.dead.size(), 1u);
  CHECK_EQUAL(all.dead[0].blocker_id, all.blockers[1].blocker_id);
  CHECK_EQUAL(all.dead[0].folded_into, 0u);
  CHECK_EQUAL(table.of(all.blockers[0].blocker_id).is_dead, 0);
  CHECK_EQUAL(table.of(all.blockers[1].blocker_id).is_dead, 1);
  CHECK_EQUAL(table.of(all.blockers[2].blocker_id).times_parked, 1u);
}

void forgotten_blockers_leave_their_sums_to_their_class() {
  LockRecords::Options options;
  options.forget_dead = true;
  Recording recording(options);
  Thread thread;
  constexpr uint32_t kGenerations = 20;
  constexpr uint32_t kEach = 500;
  for (uint32_t generation = 0; generation < kGenerations; ++generation) {
    std::vector<std::unique_ptr<Thing>> things;
    for (uint32_t i = 0; i < kEach; ++i) {
      things.push_back(std::make_unique<Thing>(i));
      const auto wait = recording->wait_begins(thread.java, thread.locks, park(things.back().get(), 1));
      recording->wait_ends(thread.locks, wait, 0);
    }
    for (auto& thing : things) thing->collected = true;
    recording.collect();
    CHECK_EQUAL(Things::references.load(), 0);
  }
  recording.end();
  const Recorded all = recording.spool();
  const Table table = recording.table();
  CHECK(table.header.slots < 2 * kEach);  // used again and again
  CHECK_EQUAL(table.header.forgotten, kGenerations * kEach);
  CHECK_EQUAL(table.sum(&hw_lock_slot::times_parked), uint64_t{kGenerations} * kEach);
  uint64_t blocked_ns = 0;
  for (const hw_block& block : all.blocks) blocked_ns += static_cast<uint64_t>(block.head.ts_ns - block.start_ns);
  CHECK_EQUAL(table.sum(&hw_lock_slot::thread_time_ns), blocked_ns);
  // Every dead one says where its sums are, which is a blocker of its own record, without a hash.
  CHECK_EQUAL(all.dead.size(), size_t{kGenerations} * kEach);
  std::map<uint32_t, uint32_t> folded;
  for (const hw_blocker_dead& dead : all.dead) ++folded[dead.folded_into];
  CHECK_EQUAL(folded.size(), 3u);  // classes
  for (const auto& each : folded) {
    const uint32_t blocker_id = each.first;
    const uint32_t count = each.second;
    CHECK_EQUAL(table.of(blocker_id).forgotten, count);
    CHECK(std::any_of(all.blockers.begin(), all.blockers.end(), [&](const hw_blocker& blocker) {
      return blocker.blocker_id == blocker_id && blocker.identity_hash == 0 && blocker.class_bytes > 0;
    }));
  }
}

void a_full_table_forgets_the_dead_and_sums_up_by_class_what_found_no_room() {
  LockRecords::Options options;
  options.max_slots = 1000;
  Recording recording(options);
  Thread thread;
  std::vector<std::unique_ptr<Thing>> things;
  const auto park_on_new = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      things.push_back(std::make_unique<Thing>(static_cast<uint32_t>(things.size() + 1)));
      const auto wait = recording->wait_begins(thread.java, thread.locks, park(things.back().get(), 1));
      CHECK(wait != 0);
      recording->wait_ends(thread.locks, wait, 0);
    }
  };
  const auto of_classes = [&] {  // parks that are known by the class only
    uint64_t parks = 0;
    const Table table = recording.table();
    for (const hw_lock_slot& slot : table.slots) parks += slot.identity_hash == 0 ? slot.times_parked : 0;
    return parks;
  };
  park_on_new(1000);
  const uint64_t no_room = of_classes();
  CHECK(no_room > 100 && no_room < 200);
  for (size_t i = 0; i < 400; ++i) things[i]->collected = true;
  recording.collect();
  Table table = recording.table();
  CHECK_EQUAL(table.header.forgotten, 125u);  // an eighth; the others are kept
  CHECK_EQUAL(of_classes(), no_room + 125);
  park_on_new(100);
  recording.end();
  table = recording.table();
  CHECK_EQUAL(of_classes(), no_room + 125);
  CHECK_EQUAL(table.header.dropped, 0u);
  CHECK_EQUAL(table.sum(&hw_lock_slot::times_parked), 1100u);
  const Recorded all = recording.spool();
  uint64_t blocked_ns = 0;
  for (const hw_block& block : all.blocks) blocked_ns += static_cast<uint64_t>(block.head.ts_ns - block.start_ns);
  CHECK_EQUAL(all.blocks.size(), 1100u);
  CHECK_EQUAL(table.sum(&hw_lock_slot::thread_time_ns), blocked_ns);
}

// Threads find, make and lose blockers while another one buries them; the sanitizers watch over the references.
void blockers_die_and_are_forgotten_while_64_threads_go_on() {
  LockRecords::Options options;
  options.forget_dead = true;
  Recording recording(options);
  constexpr uint32_t kThreads = 64;
  constexpr uint32_t kRounds = 100;
  std::mutex all_mutex;
  std::vector<std::unique_ptr<Thing>> all;  // freed at the end, as a collected object's memory is never looked at
  std::atomic<uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  Thing common{3};
  for (uint32_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&, t] {
      Thread self;
      for (uint32_t round = 0; round < kRounds; ++round) {
        auto own = std::make_unique<Thing>(round % 7);
        for (Thing* thing : {own.get(), &common, own.get()}) {
          const auto wait = recording->wait_begins(self.java, self.locks, park(thing, t));
          CHECK(wait != 0);
          recording->wait_ends(self.locks, wait, 0);
        }
        own->collected = true;
        const std::lock_guard<std::mutex> guard(all_mutex);
        all.push_back(std::move(own));
      }
      --running;
    });
  }
  while (running > 0) recording.collect();
  for (auto& thread : threads) thread.join();
  recording.collect();
  CHECK_EQUAL(Things::references.load(), 1);
  recording.end();
  const Table table = recording.table();
  CHECK_EQUAL(table.header.forgotten, kThreads * kRounds);
  CHECK_EQUAL(table.sum(&hw_lock_slot::times_parked), uint64_t{kThreads} * kRounds * 3);
  CHECK_EQUAL(table.header.dropped, 0u);
}

void ending_while_threads_go_on_harms_nothing() {
  Recording recording;
  Thing lock{1};
  std::atomic<bool> over{false};
  std::atomic<uint64_t> rounds{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= 8; ++t) {
    threads.emplace_back([&, t] {
      Thread self;
      while (!over) {
        const auto wait = recording->wait_begins(self.java, self.locks, park(&lock, t));
        recording->waking(self.java, self.locks, 1 + t % 8, t);
        if (wait != 0) recording->wait_ends(self.locks, wait, 0);
        ++rounds;
      }
    });
  }
  while (rounds < 2000) std::this_thread::yield();
  recording.end();
  const uint64_t then = rounds;
  while (rounds < then + 2000) std::this_thread::yield();
  over = true;
  for (auto& thread : threads) thread.join();
  check_sums_against_blocks(recording.spool(), recording.table());
}

}  // namespace

int main() {
  a_wait_becomes_a_record_with_its_blocker_its_owner_and_its_waker();
  objects_of_one_hash_and_uses_of_one_object_are_told_apart();
  the_sums_of_64_threads_are_those_of_their_blocks_open_ones_too(false);
  the_sums_of_64_threads_are_those_of_their_blocks_open_ones_too(true);
  monitors_waited_for_long_at_the_end_have_their_owners(0, true);
  monitors_waited_for_long_at_the_end_have_their_owners(3'600'000'000'000, false);
  every_block_is_counted_by_one_stack_or_waits_for_the_next();
  nested_waits_end_in_their_order_and_a_waking_is_the_parks();
  waits_whose_end_nobody_tells_end_by_what_comes_next();
  a_wait_of_an_earlier_recording_ends_in_vain();
  what_comes_on_top_of_a_call_of_the_same_thread_is_not_recorded();
  ten_thousand_threads_wait_on_one_lock();
  past_the_files_budget_only_the_sums_go_on();
  a_full_disk_caps_too();
  blockers_below_the_threshold_cost_no_slot_and_are_counted();
  dead_blockers_are_told_once_and_their_references_given_back();
  forgotten_blockers_leave_their_sums_to_their_class();
  a_full_table_forgets_the_dead_and_sums_up_by_class_what_found_no_room();
  blockers_die_and_are_forgotten_while_64_threads_go_on();
  ending_while_threads_go_on_harms_nothing();
}
