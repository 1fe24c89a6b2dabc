// Sums of allocations: from many threads at once, past the table's room, and from samples.
#include "agent/objects/allocation_table.h"

#include <bit>
#include <cmath>
#include <map>
#include <thread>
#include <tuple>
#include <vector>

#include "agent/objects/sampling_chance.h"
#include "testing/check.h"

using namespace headway::agent;

namespace {

using Rows = std::map<std::tuple<uint64_t, uint32_t, uint32_t>, hw_allocation>;

Rows written(AllocationTable& table) {
  Rows rows;
  table.write_changed([&](const hw_allocation& row) { rows[{row.java_id, row.class_id, row.stack_id}] = row; });
  return rows;
}

void sums_are_those_of_all_threads_that_add_at_the_same_time() {
  AllocationTable table;
  CHECK(table.start(false));
  constexpr uint64_t kThreads = 4, kEach = 20'000;
  std::vector<std::thread> threads;
  for (uint64_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&table, id] {
      for (uint64_t i = 0; i < kEach; ++i) {
        table.add({id + 1, 7, 0}, {16, 0, 1});
        table.add({9, static_cast<uint32_t>(i % 100), 3}, {24, i % 4, 1});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  Rows rows = written(table);
  CHECK_EQUAL(rows.size(), kThreads + 100);
  for (uint64_t id = 1; id <= kThreads; ++id) {
    CHECK_EQUAL((rows[{id, 7, 0}].objects), kEach);
    CHECK_EQUAL((rows[{id, 7, 0}].bytes), kEach * 16);
  }
  uint64_t objects = 0, length = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    objects += rows[{9, i, 3}].objects;
    length += rows[{9, i, 3}].array_length;
  }
  CHECK_EQUAL(objects, kThreads * kEach);
  CHECK_EQUAL(length, kThreads * kEach / 4 * 6);
}

void only_what_has_changed_is_written_again() {
  AllocationTable table;
  CHECK(table.start(false));
  table.add({1, 1, 0}, {16, 0, 1});
  table.add({2, 1, 0}, {16, 0, 1});
  CHECK_EQUAL(written(table).size(), 2U);
  CHECK_EQUAL(written(table).size(), 0U);
  table.add({2, 1, 0}, {16, 0, 1});
  Rows rows = written(table);
  CHECK_EQUAL(rows.size(), 1U);
  CHECK_EQUAL((rows[{2, 1, 0}].objects), 2U);
}

void what_finds_no_row_is_counted_for_its_class_and_the_total_is_right() {
  AllocationTable table;
  CHECK(table.start(false));
  constexpr uint64_t kObjects = 200'000;
  for (uint64_t i = 0; i < kObjects; ++i) table.add({i + 1, static_cast<uint32_t>(i % 5 + 1), 0}, {16, 0, 1});
  Rows rows = written(table);
  CHECK(rows.size() <= AllocationTable::kMostWithRest + 1);
  uint64_t objects = 0, together = 0;
  for (const auto& [key, row] : rows) {
    objects += row.objects;
    if (row.java_id == HW_MANY_THREADS && row.class_id != 0) together += row.objects;
  }
  CHECK_EQUAL(objects, kObjects);
  CHECK(together > kObjects / 2);
}

void a_table_that_starts_again_is_empty() {
  AllocationTable table;
  CHECK(table.start(false));
  table.add({1, 1, 0}, {16, 0, 1});
  table.end();
  CHECK(table.start(true));
  CHECK_EQUAL(written(table).size(), 0U);
}

void a_sampled_object_stands_for_as_many_as_its_chance_says() {
  AllocationTable table;
  CHECK(table.start(true));
  for (int i = 0; i < 3; ++i) table.add({1, 1, 0}, {100, 20, 0.25});
  table.add({1, 1, 0}, {1000, 0, 1});
  const hw_allocation row = written(table)[{1, 1, 0}];
  const auto estimate = [&](int i) { return std::bit_cast<double>(row.estimates[i]); };
  CHECK_EQUAL(row.objects, 4U);
  CHECK_EQUAL(estimate(0), 13.0);
  CHECK_EQUAL(estimate(1), 2200.0);
  CHECK_EQUAL(estimate(2), 240.0);
  CHECK_EQUAL(estimate(3), 3 * 0.75 * 16);
  CHECK_EQUAL(estimate(4), 3 * 0.75 * 16 * 100 * 100);
}

void the_chance_is_that_of_an_exponential_distance() {
  for (const uint64_t bytes : {16U, 100U, 4096U, 524'288U, 1'000'000U, 5'000'000U}) {
    const double expected = -std::expm1(-static_cast<double>(bytes) / 524'288);
    CHECK(std::abs(sampling_chance(bytes, 524'288) / expected - 1) < 1e-12);
  }
  CHECK_EQUAL(sampling_chance(1U << 30, 16), 1.0);
  CHECK_EQUAL(sampling_chance(16, 0), 1.0);
}

}  // namespace

int main() {
  sums_are_those_of_all_threads_that_add_at_the_same_time();
  only_what_has_changed_is_written_again();
  what_finds_no_row_is_counted_for_its_class_and_the_total_is_right();
  a_table_that_starts_again_is_empty();
  a_sampled_object_stands_for_as_many_as_its_chance_says();
  the_chance_is_that_of_an_exponential_distance();
}
