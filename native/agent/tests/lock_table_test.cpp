// The live table: its sums against brute force, what a reader of the file sees, and what happens without room.
#include "agent/locks/lock_table.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "agent/core/clock.h"
#include "testing/check.h"
#include "testing/scratch.h"

using headway::agent::LockTable;
using headway::agent::monotonic_ns;

namespace {

constexpr pid_t kPid = 4711;

struct File {
  hw_lock_header header{};
  std::vector<hw_lock_slot> slots;
  std::vector<std::string> classes;
};

// Reads the file as an outsider does.
File read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(in)), {});
  File file;
  CHECK(data.size() >= LockTable::kSlotsAt);
  std::memcpy(&file.header, data.data(), sizeof(file.header));
  CHECK(std::memcmp(file.header.magic, HW_LOCK_MAGIC, 8) == 0);
  CHECK_EQUAL(file.header.slot_bytes, sizeof(hw_lock_slot));
  CHECK(data.size() >= LockTable::kSlotsAt + file.header.slots * sizeof(hw_lock_slot));
  file.slots.resize(file.header.slots);
  std::memcpy(file.slots.data(), data.data() + LockTable::kSlotsAt, file.slots.size() * sizeof(hw_lock_slot));
  for (uint32_t i = 0; i < file.header.classes; ++i) {
    file.classes.emplace_back(data.data() + HW_HEADER_BYTES + size_t{i} * HW_LOCK_CLASS_BYTES);
  }
  return file;
}

LockTable::Facts facts(uint32_t id, uint32_t class_index = 0) {
  return {id, 100 + id, class_index, HW_BK_PARK, 1, 2, 0};
}

struct Event {
  int64_t time_ns;
  int change;  // +1: blocks, -1: goes on
};

// The paper's formulas, directly: parked_now as it was, times the time since the event before.
hw_lock_slot brute_force(std::vector<Event> events) {
  // Events at one time may come in any order that never goes below zero; the sums are the same.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  hw_lock_slot sums{};
  int64_t parked = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (i > 0) {
      const auto elapsed = events[i].time_ns - events[i - 1].time_ns;
      sums.thread_time_ns += static_cast<uint64_t>(parked * elapsed);
      sums.real_time_ns += static_cast<uint64_t>(std::min<int64_t>(parked, 1) * elapsed);
    }
    parked += events[i].change;
    if (events[i].change > 0) ++sums.times_parked;
  }
  sums.parked_now = static_cast<uint32_t>(parked);
  if (!events.empty()) sums.first_ns = events.front().time_ns;
  if (!events.empty()) sums.last_ns = events.back().time_ns;
  return sums;
}

void check_sums(const hw_lock_slot& found, const hw_lock_slot& expected) {
  CHECK_EQUAL(found.times_parked, expected.times_parked);
  CHECK_EQUAL(found.times_measured, expected.times_parked);
  CHECK_EQUAL(found.thread_time_ns, expected.thread_time_ns);
  CHECK_EQUAL(found.real_time_ns, expected.real_time_ns);
  CHECK_EQUAL(found.parked_now, expected.parked_now);
  CHECK_EQUAL(found.first_ns, expected.first_ns);
  CHECK_EQUAL(found.last_ns, expected.last_ns);
}

void the_sums_of_the_papers_example_are_its() {
  const Scratch scratch;
  LockTable table;
  CHECK(table.create(scratch.path() + "/locks-1.table", kPid, false, 4096));
  const uint32_t slot = table.take_slot();
  table.open(slot, facts(7));
  // Two threads at 1000, 1200; one goes on at 1500, the other at 2500; later one from 4000 to 4100.
  table.begin(slot, 1000);
  table.begin(slot, 1200);
  table.end(slot, 1500);
  table.end(slot, 2500);
  table.begin(slot, 4000);
  table.end(slot, 4100);
  const hw_lock_slot sums = table.slot_now(slot);
  CHECK_EQUAL(sums.thread_time_ns, 500u + 1300u + 100u);
  CHECK_EQUAL(sums.real_time_ns, 1500u + 100u);
  CHECK_EQUAL(sums.times_parked, 3u);
  CHECK_EQUAL(sums.peak_parked, 2u);
  CHECK_EQUAL(sums.parked_now, 0u);
  CHECK_EQUAL(sums.first_ns, 1000);
  CHECK_EQUAL(sums.last_ns, 4100);
}

void the_sums_of_random_schedules_of_64_threads_are_those_of_brute_force(bool no_map) {
  const Scratch scratch;
  const std::string path = scratch.path() + "/locks-1.table";
  LockTable table;
  CHECK(table.create(path, kPid, no_map, 4096));
  constexpr uint32_t kThreads = 64;
  constexpr uint32_t kBlockers = 5;
  constexpr int kRounds = 400;
  std::vector<uint32_t> slots;
  for (uint32_t b = 0; b < kBlockers; ++b) {
    slots.push_back(table.take_slot());
    table.open(slots.back(), facts(b + 1, table.class_index("java.util.concurrent.Lock" + std::to_string(b))));
  }
  // What each thread was told: [thread][blocker].
  std::vector<std::vector<std::vector<Event>>> told(kThreads, std::vector<std::vector<Event>>(kBlockers));
  std::vector<std::thread> threads;
  std::atomic<uint32_t> most{0};
  std::atomic<uint32_t> in_first{0};
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int round = 0; round < kRounds; ++round) {
        const auto b = static_cast<uint32_t>(random() % kBlockers);
        told[t][b].push_back({table.begin(slots[b], monotonic_ns()), +1});
        if (b == 0) {
          const uint32_t now = in_first.fetch_add(1) + 1;
          uint32_t seen = most.load();
          while (seen < now && !most.compare_exchange_weak(seen, now)) {
          }
        }
        if (random() % 4 == 0) std::this_thread::yield();
        if (b == 0) in_first.fetch_sub(1);
        told[t][b].push_back({table.end(slots[b], monotonic_ns()), -1});
        table.add_hold(slots[b], 10);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  table.save();
  const File file = read(path);
  uint64_t holds = 0;
  for (uint32_t b = 0; b < kBlockers; ++b) {
    std::vector<Event> events;
    for (const auto& of_thread : told) events.insert(events.end(), of_thread[b].begin(), of_thread[b].end());
    const hw_lock_slot& found = file.slots[slots[b]];
    check_sums(found, brute_force(events));
    CHECK(found.peak_parked >= 1 && found.peak_parked <= kThreads);
    CHECK_EQUAL(found.sequence % 2, 0u);
    CHECK_EQUAL(file.classes[found.class_index], "java.util.concurrent.Lock" + std::to_string(b));
    holds += found.holds;
    CHECK_EQUAL(found.hold_ns, 10 * found.holds);
  }
  // Seen from outside never more than were in it: the table's own count is at least that.
  CHECK(file.slots[slots[0]].peak_parked >= most.load());
  CHECK_EQUAL(holds, uint64_t{kThreads} * kRounds);
}

void a_reader_never_sees_a_torn_slot() {
  const Scratch scratch;
  const std::string path = scratch.path() + "/locks-1.table";
  LockTable table;
  CHECK(table.create(path, kPid, false, 4096));
  const uint32_t slot = table.take_slot();
  table.open(slot, facts(1));
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!over) {
        table.begin(slot, monotonic_ns());
        table.end(slot, monotonic_ns());
        table.add_hold(slot, 7);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    const hw_lock_slot seen = table.slot_now(slot);
    CHECK_EQUAL(seen.hold_ns, 7 * seen.holds);
    CHECK(seen.real_time_ns <= seen.thread_time_ns);
    CHECK(seen.parked_now <= seen.peak_parked && seen.peak_parked <= 4);
    CHECK(static_cast<int64_t>(seen.real_time_ns) <= seen.last_ns - seen.first_ns);
  }
  over = true;
  for (auto& thread : threads) thread.join();
}

void waits_that_go_on_are_brought_up_to_the_end() {
  const Scratch scratch;
  LockTable table;
  CHECK(table.create(scratch.path() + "/locks-1.table", kPid, false, 4096));
  const uint32_t slot = table.take_slot();
  table.open(slot, facts(1));
  const int64_t begin = monotonic_ns();
  table.begin(slot, begin);
  table.begin(slot, begin + 10);
  table.close_times(begin + 110);
  const hw_lock_slot sums = table.slot_now(slot);
  CHECK_EQUAL(sums.thread_time_ns, 10u + 200u);
  CHECK_EQUAL(sums.real_time_ns, 110u);
  CHECK_EQUAL(sums.parked_now, 2u);
}

void a_dead_blockers_sums_go_into_those_of_its_class() {
  const Scratch scratch;
  const std::string path = scratch.path() + "/locks-1.table";
  LockTable table;
  CHECK(table.create(path, kPid, false, 4096));
  const uint32_t sum = table.take_reserved_slot();
  table.open(sum, facts(100));
  uint32_t slot = 0;
  for (uint32_t i = 1; i <= 3; ++i) {
    const uint32_t taken = table.take_slot();
    CHECK(i == 1 || taken == slot);  // the same again
    slot = taken;
    table.open(slot, facts(i));
    table.begin(slot, 1000 * i);
    CHECK(!table.fold(slot, sum));  // a thread blocks on it
    table.end(slot, 1000 * i + 50);
    table.add_hold(slot, 5);
    CHECK(table.fold(slot, sum));
    CHECK_EQUAL(table.slot_now(slot).kind, 0);
  }
  const File file = read(path);
  const hw_lock_slot& sums = file.slots[sum];
  CHECK_EQUAL(sums.forgotten, 3u);
  CHECK_EQUAL(file.header.forgotten, 3u);
  CHECK_EQUAL(sums.times_parked, 3u);
  CHECK_EQUAL(sums.thread_time_ns, 150u);
  CHECK_EQUAL(sums.real_time_ns, 150u);
  CHECK_EQUAL(sums.holds, 3u);
  CHECK_EQUAL(sums.hold_ns, 15u);
  CHECK_EQUAL(sums.first_ns, 1000);
  CHECK_EQUAL(sums.last_ns, 3050);
  CHECK_EQUAL(sums.peak_parked, 1u);
}

void a_full_table_gives_none_until_one_is_given_back() {
  const Scratch scratch;
  LockTable table;
  CHECK(table.create(scratch.path() + "/locks-1.table", kPid, false, 2000));
  uint32_t taken = 0;
  uint32_t last = 0;
  while (const uint32_t slot = table.take_slot()) {
    last = slot;
    table.open(slot, facts(++taken));
  }
  CHECK_EQUAL(taken, 2000u - 2000u / 8 - 1);
  CHECK(table.short_of_slots());
  CHECK(table.take_reserved_slot() != 0);
  table.give_back(last);
  CHECK(!table.short_of_slots());
  CHECK_EQUAL(table.take_slot(), last);
  CHECK_EQUAL(table.take_slot(), 0u);
}

void slots_that_many_threads_take_and_give_back_are_never_given_to_two() {
  const Scratch scratch;
  LockTable table;
  CHECK(table.create(scratch.path() + "/locks-1.table", kPid, false, 4096));
  std::vector<std::atomic<int>> owners(4096);
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) {
        const uint32_t slot = table.take_slot();
        CHECK(slot != 0);
        CHECK_EQUAL(owners[slot].fetch_add(1), 0);
        table.open(slot, facts(1));
        owners[slot].fetch_sub(1);
        table.give_back(slot);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(table.slots() <= 1 + 8);
}

void a_file_size_limit_is_kept_to_without_a_signal(bool no_map) {
  const Scratch scratch;
  const rlimit small{LockTable::kSlotsAt + LockTable::kSegmentBytes + 5000, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  setrlimit(RLIMIT_FSIZE, &small);
  LockTable table;
  CHECK(table.create(scratch.path() + "/locks-1.table", kPid, no_map, LockTable::kMaxSlots));
  uint32_t taken = 0;
  while (const uint32_t slot = table.take_slot()) {
    table.open(slot, facts(++taken));
    table.begin(slot, monotonic_ns());
  }
  table.save();
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(taken > 400);
  CHECK_EQUAL(read(scratch.path() + "/locks-1.table").header.slots, taken + 1);
}

void no_room_for_the_file_leaves_nothing() {
  const Scratch scratch;
  const rlimit small{100'000, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  setrlimit(RLIMIT_FSIZE, &small);
  LockTable table;
  CHECK(!table.create(scratch.path() + "/locks-1.table", kPid, false, 4096));
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(std::filesystem::is_empty(scratch.path()));
  LockTable other;
  CHECK(!other.create("/nonexistent/locks-1.table", kPid, false, 4096));
}

void class_names_have_one_number_each_and_long_ones_are_cut_between_characters() {
  const Scratch scratch;
  const std::string path = scratch.path() + "/locks-1.table";
  LockTable table;
  CHECK(table.create(path, kPid, false, 4096));
  const uint32_t a = table.class_index("a.A");
  CHECK(a != 0);
  CHECK(table.class_index("b.B") != a);
  CHECK_EQUAL(table.class_index("a.A"), a);
  std::string umlauts = "x";
  while (umlauts.size() < 300) umlauts += "ä";
  const uint32_t cut = table.class_index(umlauts);
  const File file = read(path);
  CHECK_EQUAL(file.classes[cut], umlauts.substr(0, 127));
  uint32_t none = 1;
  for (int i = 0; i < 5000 && none != 0; ++i) none = table.class_index("c.C" + std::to_string(i));
  CHECK_EQUAL(none, 0u);
  CHECK_EQUAL(table.class_index("a.A"), a);
  CHECK_EQUAL(read(path).header.classes, uint32_t{HW_LOCK_CLASSES});
}

void letting_go_of_the_table_while_threads_update_it_harms_nothing(bool no_map) {
  const Scratch scratch;
  const std::string path = scratch.path() + "/locks-1.table";
  LockTable table;
  CHECK(table.create(path, kPid, no_map, 100'000));
  const uint32_t slot = table.take_slot();
  table.open(slot, facts(1));
  std::atomic<bool> over{false};
  std::atomic<uint64_t> rounds{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!over) {
        table.begin(slot, monotonic_ns());
        table.end(slot, monotonic_ns());
        if (const uint32_t more = table.take_slot()) table.open(more, facts(2));
        ++rounds;
      }
    });
  }
  while (rounds < 1000) std::this_thread::yield();
  table.release();
  const uint64_t then = rounds;
  while (rounds < then + 1000) std::this_thread::yield();
  over = true;
  for (auto& thread : threads) thread.join();
  CHECK(read(path).slots[slot].times_parked > 0);
}

}  // namespace

int main() {
  // What that one is about is a race: between threads that store to memory that is nobody's any more.
#if !defined(__SANITIZE_THREAD__)
  letting_go_of_the_table_while_threads_update_it_harms_nothing(false);
#endif
  letting_go_of_the_table_while_threads_update_it_harms_nothing(true);
  the_sums_of_the_papers_example_are_its();
  for (const bool no_map : {false, true}) {
    the_sums_of_random_schedules_of_64_threads_are_those_of_brute_force(no_map);
    a_file_size_limit_is_kept_to_without_a_signal(no_map);
  }
  a_reader_never_sees_a_torn_slot();
  waits_that_go_on_are_brought_up_to_the_end();
  a_dead_blockers_sums_go_into_those_of_its_class();
  a_full_table_gives_none_until_one_is_given_back();
  slots_that_many_threads_take_and_give_back_are_never_given_to_two();
  no_room_for_the_file_leaves_nothing();
  class_names_have_one_number_each_and_long_ones_are_cut_between_characters();
}
