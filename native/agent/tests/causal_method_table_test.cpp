// The hash table of methods: what was put is found while the table grows, and nothing else is.
#include "agent/causal/common/method_table.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "testing/check.h"

using headway::agent::causal::MethodTable;

namespace {

using Table = MethodTable<uint64_t>;

void what_was_put_is_found_however_large_the_table_grows() {
  Table table;
  std::vector<uint64_t> values(50000);
  for (uint64_t i = 0; i < values.size(); ++i) {
    values[i] = i * 3;
    CHECK(table.put(0x7f0000000000 + i * 8, &values[i]));
  }
  CHECK_EQUAL(table.size(), values.size());
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint64_t* found = table.find(0x7f0000000000 + i * 8);
    CHECK(found != nullptr);
    CHECK_EQUAL(*found, i * 3);
  }
}

void what_was_not_put_is_not_found() {
  Table table;
  CHECK(table.find(8) == nullptr);  // not even a table yet
  const uint64_t value = 1;
  table.put(8, &value);
  CHECK(table.find(16) == nullptr);
}

void a_second_value_takes_the_place_of_the_first() {
  Table table;
  const uint64_t first = 1;
  const uint64_t second = 2;
  table.put(8, &first);
  table.put(8, &second);
  CHECK_EQUAL(*table.find(8), 2u);
  CHECK_EQUAL(table.size(), 1u);
}

void readers_find_all_that_was_there_before_while_it_grows() {
  Table table;
  std::vector<uint64_t> values(200000);
  std::atomic<uint64_t> there{0};
  std::thread reader([&] {
    for (uint64_t known = 0; known < values.size(); known = there.load(std::memory_order_acquire)) {
      for (uint64_t i = known > 1000 ? known - 1000 : 0; i < known; ++i) {
        const uint64_t* found = table.find((i + 1) * 16);
        CHECK(found == &values[i]);
      }
    }
  });
  for (uint64_t i = 0; i < values.size(); ++i) {
    table.put((i + 1) * 16, &values[i]);
    there.store(i + 1, std::memory_order_release);
  }
  reader.join();
}

}  // namespace

int main() {
  what_was_put_is_found_however_large_the_table_grows();
  what_was_not_put_is_not_found();
  a_second_value_takes_the_place_of_the_first();
  readers_find_all_that_was_there_before_while_it_grows();
}
