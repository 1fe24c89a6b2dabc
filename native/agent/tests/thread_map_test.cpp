// The table by Java thread id: what one thread puts another takes, once.
#include "agent/core/thread_map.h"

#include <memory>
#include <thread>
#include <vector>

#include "testing/check.h"

using headway::agent::ThreadMap;

namespace {

using Map = ThreadMap<uint64_t>;

void what_is_put_is_taken_once() {
  const auto map = std::make_unique<Map>();
  CHECK_EQUAL(map->take(7), 0u);
  CHECK(map->put(7, 70));
  CHECK(map->put(7 + 4096, 80));  // the same bucket
  CHECK_EQUAL(map->take(7), 70u);
  CHECK_EQUAL(map->take(7), 0u);
  CHECK_EQUAL(map->take(7 + 4096), 80u);
}

void the_last_one_put_counts() {
  const auto map = std::make_unique<Map>();
  map->put(7, 70);
  map->put(7, 71);
  CHECK_EQUAL(map->take(7), 71u);
  CHECK_EQUAL(map->take(7), 0u);
}

void a_hundred_thousand_threads_have_room_and_are_forgotten_at_once() {
  const auto map = std::make_unique<Map>();
  for (uint32_t id = 1; id <= 100000; ++id) CHECK(map->put(id, id * 3ULL));
  for (uint32_t id = 1; id <= 100000; id += 2) CHECK_EQUAL(map->take(id), id * 3ULL);
  map->clear();
  for (uint32_t id = 1; id <= 100000; ++id) CHECK_EQUAL(map->take(id), 0u);
}

void what_one_thread_puts_another_takes() {
  const auto map = std::make_unique<Map>();
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kEach = 20000;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&map, t] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const uint32_t id = i * kThreads + t + 1;
        CHECK(map->put(id, id));
        if (i % 3 != 0) CHECK_EQUAL(map->take(id), uint64_t{id});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  uint32_t left = 0;
  for (uint32_t id = 1; id <= kThreads * kEach; ++id) left += map->take(id) == id ? 1 : 0;
  CHECK_EQUAL(left, kThreads * ((kEach + 2) / 3));
}

}  // namespace

int main() {
  what_is_put_is_taken_once();
  the_last_one_put_counts();
  a_hundred_thousand_threads_have_room_and_are_forgotten_at_once();
  what_one_thread_puts_another_takes();
  return 0;
}
