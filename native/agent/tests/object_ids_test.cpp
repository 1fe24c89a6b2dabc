// Numbers of objects: each given once, from many threads at once, until there are no more.
#include "agent/objects/object_ids.h"

#include <set>
#include <thread>
#include <vector>

#include "testing/check.h"

using namespace headway::agent;

namespace {

uint8_t allocator_of(const ObjectIds& ids, uint32_t id) {
  return *reinterpret_cast<const uint8_t*>(ids.address() + ObjectIds::kIds + id / ObjectIds::kChunk);
}

const uint64_t& given_word(const ObjectIds& ids) {
  return *reinterpret_cast<const uint64_t*>(ids.address() + ObjectIds::kIds + ObjectIds::kIds / ObjectIds::kChunk);
}

void threads_take_chunks_of_numbers_that_no_other_has() {
  ObjectIds ids;
  CHECK(ids.start());
  constexpr int kThreads = 4, kChunks = 500;
  std::vector<std::vector<uint32_t>> taken(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int chunk = 0; chunk < kChunks; ++chunk) taken[i].push_back(ids.take_chunk(static_cast<uint8_t>(i + 2)));
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<uint32_t> all;
  for (int i = 0; i < kThreads; ++i) {
    for (const uint32_t first : taken[i]) {
      CHECK(first > 0 && first % ObjectIds::kChunk == 0 && first + ObjectIds::kChunk <= given_word(ids));
      CHECK_EQUAL(allocator_of(ids, first + ObjectIds::kChunk - 1), i + 2);
      all.insert(first);
    }
  }
  CHECK_EQUAL(all.size(), size_t{kThreads * kChunks});
  CHECK_EQUAL(given_word(ids), uint64_t{ids.given()});
}

void numbers_end_after_the_last_one() {
  ObjectIds ids;
  CHECK(ids.start());
  uint32_t last = 0;
  for (uint32_t chunk = 1; chunk < ObjectIds::kIds / ObjectIds::kChunk; ++chunk) last = ids.take_chunk(2);
  CHECK_EQUAL(last, ObjectIds::kIds - ObjectIds::kChunk);
  CHECK_EQUAL(ids.take_chunk(2), 0U);
  CHECK_EQUAL(ids.given(), uint32_t{ObjectIds::kIds});
  CHECK_EQUAL(given_word(ids), uint64_t{ObjectIds::kIds});
}

void what_a_thread_leaves_of_a_chunk_is_for_others_of_its_owner() {
  ObjectIds ids;
  CHECK(ids.start());
  const uint32_t unknown = ids.take_chunk(0), of_virtual = ids.take_chunk(1), known = ids.take_chunk(2);
  ids.give_back(0, unknown + 7);
  ids.give_back(1, of_virtual + 9);
  ids.give_back(2, known + 5);
  ids.give_back(0, 0);                            // it had none
  ids.give_back(0, unknown + ObjectIds::kChunk);  // or none left
  const uint64_t given = ids.given();
  CHECK_EQUAL(ids.take_chunk(0), unknown + 7);
  CHECK_EQUAL(ids.take_chunk(1), of_virtual + 9);
  CHECK_EQUAL(ids.given(), given);
  CHECK_EQUAL(ids.take_chunk(2), known + ObjectIds::kChunk);
  CHECK_EQUAL(ids.take_chunk(0), known + 2 * ObjectIds::kChunk);
}

void a_table_that_was_not_started_gives_no_numbers() {
  ObjectIds ids;
  CHECK_EQUAL(ids.take_chunk(2), 0U);
  CHECK_EQUAL(ids.address(), 0U);
  ids.note_unnoted();
  CHECK(!ids.has_unnoted());
}

void unnoted_writes_are_kept_behind_how_many_numbers_are_given() {
  ObjectIds ids;
  CHECK(ids.start());
  CHECK(!ids.has_unnoted());
  auto* const word = const_cast<uint64_t*>(&given_word(ids)) + 1;
  *reinterpret_cast<uint8_t*>(word) = 1;
  CHECK(ids.has_unnoted());
  *reinterpret_cast<uint8_t*>(word) = 0;
  ids.note_unnoted();
  CHECK(ids.has_unnoted());
}

}  // namespace

int main() {
  threads_take_chunks_of_numbers_that_no_other_has();
  numbers_end_after_the_last_one();
  what_a_thread_leaves_of_a_chunk_is_for_others_of_its_owner();
  a_table_that_was_not_started_gives_no_numbers();
  unnoted_writes_are_kept_behind_how_many_numbers_are_given();
}
