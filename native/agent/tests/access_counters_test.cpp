// Counters of reads and writes: which number a class has, which thread's memory counts, and what finds no room.
#include "agent/objects/access_counters.h"

#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "testing/check.h"

using namespace headway::agent;

namespace {

using Rows = std::map<std::tuple<uint64_t, uint32_t, uint32_t>, hw_access>;

std::unique_ptr<AccessCounters> started() {
  auto counters = std::make_unique<AccessCounters>();
  CHECK(counters->start());
  return counters;
}

// As HeadwayCount0.count does.
void count(AccessCounters& counters, int64_t key, int32_t counter, uint64_t times = 1) {
  const uint64_t slot = counters.slots() + static_cast<uint64_t>(key) % AccessCounters::kSlots * 8;
  uint64_t block = __atomic_load_n(reinterpret_cast<const uint64_t*>(slot), __ATOMIC_RELAXED);
  constexpr uint64_t kKeyAt = (32'768 + 1) * 8;
  if (__atomic_load_n(reinterpret_cast<const int64_t*>(block - kKeyAt), __ATOMIC_RELAXED) != key) {
    block = counters.find(key);
  }
  auto* const at = reinterpret_cast<uint64_t*>(block + static_cast<uint64_t>(int64_t{counter}) * 8);
  __atomic_store_n(at, *at + times, __ATOMIC_RELAXED);
}

void add(Rows& rows, const hw_access& row) { rows[{row.java_id, row.class_id, row.block}] = row; }

Rows written(AccessCounters& counters, bool is_last = false) {
  Rows rows;
  counters.write_changed(is_last, [&](const hw_access& row) { add(rows, row); });
  return rows;
}

constexpr AccessCounts kRead{1, 0, 0, 0, 0, 0}, kMany{2, 0, 3, 0, 0, 1};

void a_class_s_counters_follow_each_other_and_are_the_same_when_it_comes_again() {
  const auto counters = started();
  const AccessCounts both[] = {kRead, kMany};
  CHECK_EQUAL(counters->number_of(1, both).value_or(0), -32768);
  CHECK_EQUAL(counters->number_of(2, both).value_or(0), -32766);
  CHECK_EQUAL(counters->number_of(1, both).value_or(0), -32768);
  CHECK_EQUAL(counters->number_of(1, std::span(both).first(1)).value_or(0), -32764);
}

void counters_beyond_the_limit_get_no_number() {
  const auto counters = started();
  const std::vector<AccessCounts> most(AccessCounters::kCounters, kRead);
  CHECK(counters->number_of(1, most).has_value());
  CHECK(!counters->number_of(2, std::span(most).first(1)).has_value());
}

void a_counter_stands_for_accesses_of_its_class_and_thread() {
  const auto counters = started();
  const AccessCounts both[] = {kRead, kMany};
  const int32_t first = *counters->number_of(7, both);
  std::vector<std::thread> threads;
  for (int64_t key = 1; key <= 4; ++key) {
    threads.emplace_back([&, key] {
      for (int64_t i = 0; i < 1000 * key; ++i) count(*counters, key, first);
      count(*counters, key, first + 1, 10);
    });
  }
  for (auto& thread : threads) thread.join();
  const Rows rows = written(*counters);
  CHECK_EQUAL(rows.size(), 4U);
  for (const auto& [key, row] : rows) {
    CHECK_EQUAL(row.counts[0], 1000 * std::get<0>(key) + 20);
    CHECK_EQUAL(row.counts[2], 30U);
    CHECK_EQUAL(row.counts[5], 10U);
  }
  CHECK(written(*counters).empty());
}

void threads_whose_ids_share_a_slot_keep_counters_of_their_own() {
  const auto counters = started();
  const int32_t first = *counters->number_of(7, std::span(&kRead, 1));
  constexpr int64_t kOther = 5 + int64_t{AccessCounters::kSlots};
  for (int i = 0; i < 100; ++i) {
    count(*counters, 5, first);
    count(*counters, kOther, first, 2);
  }
  Rows rows = written(*counters);
  CHECK_EQUAL(rows.size(), 2U);
  for (const auto& [key, row] : rows) CHECK_EQUAL(row.counts[0], std::get<0>(key) == 5 ? 100U : 200U);
}

void a_thread_that_takes_the_memory_of_one_that_ended_begins_at_zero() {
  const auto counters = started();
  const int32_t first = *counters->number_of(7, std::span(&kRead, 1));
  Rows rows;
  for (int64_t key = 1; key <= 100; ++key) {
    count(*counters, key, first, 3);
    counters->thread_ends(key, [&](const hw_access& row) { add(rows, row); });
  }
  CHECK_EQUAL(rows.size(), 100U);
  for (const auto& [key, row] : rows) CHECK_EQUAL(row.counts[0], 3U);
  CHECK(written(*counters, true).empty());
}

void virtual_threads_count_apart_from_their_carrier() {
  const auto counters = started();
  const int32_t first = *counters->number_of(7, std::span(&kRead, 1));
  count(*counters, 20, first, 2);
  count(*counters, ~int64_t{20}, first, 5);
  for (const auto& [key, row] : written(*counters)) {
    CHECK_EQUAL(row.counts[0], std::get<0>(key) == HW_VIRTUAL_THREADS ? 5U : 2U);
  }
}

void what_finds_no_row_is_in_that_of_its_class_for_all_threads() {
  const auto counters = started();
  const int32_t first = *counters->number_of(7, std::span(&kRead, 1));
  uint64_t sum = 0;
  size_t rows = 0;
  const auto note = [&](const hw_access& row) {
    ++rows;
    sum += row.counts[0];
  };
  constexpr int64_t kThreads = AccessCounters::kMostRows + 1000;
  for (int64_t key = 1; key <= kThreads; ++key) {
    count(*counters, key, first);
    counters->thread_ends(key, note);
  }
  CHECK_EQUAL(rows, size_t{AccessCounters::kMostRows});
  const Rows rest = written(*counters, true);
  CHECK_EQUAL(rest.size(), 1U);
  CHECK_EQUAL(std::get<0>(rest.begin()->first), uint64_t{HW_MANY_THREADS});
  CHECK_EQUAL(sum + rest.begin()->second.counts[0], static_cast<uint64_t>(kThreads));
}

void threads_beyond_the_limit_are_counted_as_left_out() {
  const auto counters = started();
  const int32_t first = *counters->number_of(7, std::span(&kRead, 1));
  constexpr int64_t kThreads = AccessCounters::kMostBlocks + 10;
  for (int64_t key = 1; key <= kThreads; ++key) count(*counters, key, first);
  CHECK_EQUAL(counters->threads_left_out(), 10U);
  CHECK_EQUAL(written(*counters, true).size(), size_t{AccessCounters::kMostBlocks});
}

// As HeadwayCount0.touch does: rows of four words and pairs stand behind the counters, the number of the thread as an
// owner before its key.
uint64_t owner_of(AccessCounters& counters, int64_t key) {
  const uint64_t block = counters.find(key);
  return *reinterpret_cast<const uint64_t*>(block - (32'768 + 2) * 8);
}
void touch(AccessCounters& counters, int64_t key, int32_t row, uint64_t owner, uint64_t times, uint64_t rule = 0) {
  constexpr uint64_t kRuleBytes = (65'536 + 256) * 4 * 8;
  const uint64_t block = counters.find(key) + rule * kRuleBytes;
  const uint64_t own = owner_of(counters, key);
  const uint64_t column = owner == 0 || owner == 255 ? 2 : owner == own ? 0 : 1;
  auto* const rows = reinterpret_cast<uint64_t*>(block + 32'768 * 8);
  rows[static_cast<uint64_t>(row + 32'768) * 4 + column] += times;
  rows[65'536 * 4 + owner * 4 + (static_cast<uint64_t>(row) & 3)] += times;
}

struct Owned {
  std::map<uint64_t, hw_access> rows;
  std::map<uint64_t, hw_access_owners> owners, writers;
  std::map<std::pair<uint64_t, uint64_t>, hw_access_pair> pairs, writer_pairs;
  void operator()(const hw_access& row) { rows[row.java_id] = row; }
  void operator()(const hw_access_window&) {}
  void operator()(const hw_access_owners& row) {
    (row.head.type == HW_ACCESS_OWNERS ? owners : writers)[row.java_id] = row;
  }
  void operator()(const hw_access_pair& row) {
    (row.head.type == HW_ACCESS_PAIR ? pairs : writer_pairs)[{row.java_id, row.owner_id}] = row;
  }
};

void accesses_are_counted_by_owner_and_virtual_threads_have_no_own_objects() {
  const auto counters = std::make_unique<AccessCounters>();
  CHECK(counters->start({.allocator = true}));
  const int32_t row = counters->rows_of(7).value_or(0);
  CHECK_EQUAL(counters->rows_of(7).value_or(0), row);
  CHECK_EQUAL(counters->rows_of(8).value_or(0), row + 4);
  const uint64_t first = owner_of(*counters, 20), second = owner_of(*counters, 30);
  CHECK(first != second && first > 1 && second < 255);
  CHECK_EQUAL(owner_of(*counters, ~int64_t{20}), uint64_t{AccessCounters::kVirtualOwner});
  touch(*counters, 20, row, first, 3);
  touch(*counters, 20, row, second, 5);
  touch(*counters, 20, row + 3, 0, 7);
  touch(*counters, 20, row, 255, 9);
  touch(*counters, ~int64_t{20}, row + 1, AccessCounters::kVirtualOwner, 11);
  Owned found;
  counters->write_changed(true, [&](const auto& record) { found(record); });
  CHECK_EQUAL(found.rows.at(20).counts[0], 17U);
  CHECK_EQUAL(found.rows.at(20).counts[3], 7U);
  CHECK_EQUAL(found.owners.at(20).local[0], 3U);
  CHECK_EQUAL(found.owners.at(20).shared[0], 5U);
  CHECK_EQUAL((found.pairs.at({20, 30}).counts[0]), 5U);
  CHECK_EQUAL((found.pairs.at({20, 0}).counts[3]), 7U);
  CHECK_EQUAL((found.pairs.at({20, HW_FOREIGN_OWNER}).counts[0]), 9U);
  CHECK_EQUAL(found.rows.at(HW_VIRTUAL_THREADS).counts[1], 11U);
  CHECK_EQUAL(found.owners.at(HW_VIRTUAL_THREADS).local[1], 0U);
}

void two_rules_of_owners_count_each_access_once() {
  const auto counters = std::make_unique<AccessCounters>();
  CHECK(counters->start({.allocator = true, .last_writer = true}));
  const int32_t row = counters->rows_of(7).value_or(0);
  const uint64_t own = owner_of(*counters, 20), other = owner_of(*counters, 30);
  touch(*counters, 20, row + 1, own, 3, 0);
  touch(*counters, 20, row + 1, other, 2, 1);
  touch(*counters, 20, row + 1, 0, 1, 1);
  Owned found;
  counters->write_changed(false, [&](const auto& record) { found(record); });
  CHECK_EQUAL(found.rows.at(20).counts[1], 3U);
  CHECK_EQUAL(found.owners.at(20).local[1], 3U);
  CHECK_EQUAL(found.writers.at(20).local[1], 0U);
  CHECK_EQUAL(found.writers.at(20).shared[1], 2U);
  CHECK_EQUAL((found.pairs.at({20, 20}).counts[1]), 3U);
  CHECK_EQUAL((found.writer_pairs.at({20, 30}).counts[1]), 2U);
  CHECK_EQUAL((found.writer_pairs.at({20, 0}).counts[1]), 1U);
  // What is counted by one rule only is written, too: sums are written between the two counts of an access.
  touch(*counters, 20, row + 1, other, 4, 1);
  counters->write_changed(false, [&](const auto& record) { found(record); });
  CHECK_EQUAL(found.writers.at(20).shared[1], 6U);
}

void a_thread_that_ends_gives_back_the_numbers_for_objects_that_others_may_have() {
  ObjectIds ids;
  CHECK(ids.start());
  const auto counters = std::make_unique<AccessCounters>();
  CHECK(counters->start({.last_writer = true}, &ids));
  for (int64_t key = 1; key <= 2000; ++key) {
    auto* const other_ids = reinterpret_cast<int64_t*>(counters->find(key) - (32'768 + 5) * 8);
    CHECK_EQUAL(*other_ids, 0);
    *other_ids = ids.take_chunk(0) + 1;
    counters->thread_ends(key, [](const hw_access&) {});
  }
  CHECK_EQUAL(ids.given(), uint32_t{3 * ObjectIds::kChunk});
}

void by_the_last_writer_alone_accesses_are_counted_as_well() {
  const auto counters = std::make_unique<AccessCounters>();
  CHECK(counters->start({.last_writer = true}));
  const int32_t row = counters->rows_of(7).value_or(0);
  touch(*counters, 20, row, owner_of(*counters, 20), 3, 1);
  Owned found;
  counters->write_changed(true, [&](const auto& record) { found(record); });
  CHECK_EQUAL(found.rows.at(20).counts[0], 3U);
  CHECK_EQUAL(found.writers.at(20).local[0], 3U);
  CHECK(found.owners.empty() && found.pairs.empty());
}

void pairs_that_find_no_row_are_in_that_of_their_owner_for_all_threads() {
  const auto counters = std::make_unique<AccessCounters>();
  CHECK(counters->start({.allocator = true}));
  const int32_t row = counters->rows_of(7).value_or(0);
  const uint64_t owner = owner_of(*counters, 1);
  uint64_t sum = 0;
  size_t rows = 0;
  Owned rest;
  const auto note = [&](const auto& record) {
    if constexpr (std::is_same_v<decltype(record), const hw_access_pair&>) {
      ++rows;
      sum += record.counts[0];
    }
  };
  constexpr int64_t kThreads = AccessCounters::kMostRows + 1000;
  for (int64_t key = 2; key < 2 + kThreads; ++key) {
    touch(*counters, key, row, owner, 3);
    counters->thread_ends(key, note);
  }
  CHECK_EQUAL(rows, size_t{AccessCounters::kMostRows});
  counters->write_changed(true, [&](const auto& record) { rest(record); });
  CHECK_EQUAL(rest.pairs.size(), 1U);
  CHECK_EQUAL((sum + rest.pairs.at({HW_MANY_THREADS, 1}).counts[0]), static_cast<uint64_t>(3 * kThreads));
}

void threads_beyond_the_last_number_are_unknown_owners() {
  const auto counters = std::make_unique<AccessCounters>();
  CHECK(counters->start({.allocator = true}));
  for (int64_t key = 1; key <= 253; ++key) CHECK_EQUAL(owner_of(*counters, key), static_cast<uint64_t>(key) + 1);
  CHECK_EQUAL(owner_of(*counters, 254), 0U);
  CHECK_EQUAL(counters->owners_left_out(), 1U);
}

}  // namespace

int main() {
  a_class_s_counters_follow_each_other_and_are_the_same_when_it_comes_again();
  counters_beyond_the_limit_get_no_number();
  a_counter_stands_for_accesses_of_its_class_and_thread();
  threads_whose_ids_share_a_slot_keep_counters_of_their_own();
  a_thread_that_takes_the_memory_of_one_that_ended_begins_at_zero();
  virtual_threads_count_apart_from_their_carrier();
  what_finds_no_row_is_in_that_of_its_class_for_all_threads();
  threads_beyond_the_limit_are_counted_as_left_out();
  accesses_are_counted_by_owner_and_virtual_threads_have_no_own_objects();
  two_rules_of_owners_count_each_access_once();
  by_the_last_writer_alone_accesses_are_counted_as_well();
  a_thread_that_ends_gives_back_the_numbers_for_objects_that_others_may_have();
  pairs_that_find_no_row_are_in_that_of_their_owner_for_all_threads();
  threads_beyond_the_last_number_are_unknown_owners();
}
