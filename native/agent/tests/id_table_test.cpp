// Tables that number values by their hash: one number for each value, from many threads at once, until they are full.
#include "agent/core/id_table.h"

#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "testing/check.h"

using headway::agent::IdCache;
using headway::agent::IdNumbers;
using headway::agent::IdTable;
using headway::agent::kMaxTableId;
using headway::agent::mix;

namespace {

constexpr uint32_t kMany = 65536;

uint64_t hash_of(uint64_t number) { return mix(1, number); }

void hashes_of_similar_values_differ_in_all_parts() {
  std::set<uint64_t> upper;
  std::set<uint64_t> lower;
  for (uint64_t i = 0; i < kMany; ++i) {
    upper.insert(hash_of(i * 8) >> 24);
    lower.insert(hash_of(i * 8) % kMany);
  }
  CHECK_EQUAL(upper.size(), size_t{kMany});
  CHECK(lower.size() > kMany * 6 / 10);  // of random ones 1 - 1/e are different
  CHECK(mix(mix(1, 2), 3) != mix(mix(1, 3), 2));
  CHECK(mix(mix(0, 0), 0) != mix(0, 0));
}

void the_table_keeps_65536_entries_and_finds_no_other() {
  const auto table = std::make_unique<IdTable>();
  for (uint32_t i = 1; i <= kMany; ++i) CHECK_EQUAL(table->put(hash_of(i), i), i);
  for (uint32_t i = 1; i <= kMany; ++i) CHECK_EQUAL(table->find(hash_of(i)), i);
  for (uint32_t i = kMany + 1; i <= 2 * kMany; ++i) CHECK_EQUAL(table->find(hash_of(i)), 0u);
  table->clear();
  for (uint32_t i = 1; i <= kMany; ++i) CHECK_EQUAL(table->find(hash_of(i)), 0u);
}

void the_first_id_of_a_hash_stays() {
  const auto table = std::make_unique<IdTable>();
  CHECK_EQUAL(table->put(hash_of(5), kMaxTableId), kMaxTableId);
  CHECK_EQUAL(table->put(hash_of(5), 7), kMaxTableId);
  CHECK_EQUAL(table->find(hash_of(5)), kMaxTableId);
}

void a_full_table_says_so_and_keeps_what_it_has() {
  const auto table = std::make_unique<IdTable>();
  uint64_t refused = 0;
  std::vector<uint64_t> kept;
  for (uint64_t i = 1; i <= 400000; ++i) {
    const uint64_t hash = hash_of(i);
    (table->put(hash, static_cast<uint32_t>(i)) == 0 ? ++refused : (kept.push_back(i), refused));
  }
  CHECK(refused > 0);
  CHECK_EQUAL(kept.size() + refused, size_t{400000});
  for (const uint64_t i : kept) CHECK_EQUAL(table->find(hash_of(i)), static_cast<uint32_t>(i));
}

void threads_that_number_the_same_values_agree() {
  const auto table = std::make_unique<IdTable>();
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kValues = 5000;
  std::vector<std::vector<uint32_t>> got(kThreads, std::vector<uint32_t>(kValues));
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kValues; ++i) {
        uint32_t id = table->find(hash_of(i));
        if (id == 0) id = table->put(hash_of(i), 1 + i * kThreads + t);
        got[t][i] = id;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (uint32_t t = 1; t < kThreads; ++t) CHECK(got[t] == got[0]);
  CHECK_EQUAL(std::set<uint32_t>(got[0].begin(), got[0].end()).size(), size_t{kValues});
}

void the_cache_finds_what_was_put_last() {
  const auto cache = std::make_unique<IdCache>();
  uint32_t known = 0;
  for (uint32_t i = 1; i <= 10 * IdCache::kPlaces; ++i) {
    cache->put(hash_of(i), i);
    CHECK_EQUAL(cache->find(hash_of(i)), i);
  }
  for (uint32_t i = 1; i <= 10 * IdCache::kPlaces; ++i) {
    const uint32_t id = cache->find(hash_of(i));
    CHECK(id == 0 || id == i);
    known += id != 0 ? 1 : 0;
  }
  CHECK(known > IdCache::kPlaces * 9 / 10);
  cache->put(hash_of(3), 1);
  cache->put(hash_of(3), 2);
  CHECK_EQUAL(cache->find(hash_of(3)), 2u);
  cache->clear();
  CHECK_EQUAL(cache->find(hash_of(3)), 0u);
}

void threads_may_use_the_cache_at_once() {
  const auto cache = std::make_unique<IdCache>();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint32_t i = 1; i <= 50000; ++i) {
        cache->put(hash_of(i), i);
        const uint32_t id = cache->find(hash_of(i));
        CHECK(id == 0 || id == i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

void values_are_numbered_from_one_until_the_ids_run_out() {
  const auto numbers = std::make_unique<IdNumbers>();
  for (int time = 0; time < 2; ++time) {
    for (uint32_t i = 1; i < kMany; ++i) {
      const auto [id, is_new] = numbers->of(hash_of(i));
      CHECK_EQUAL(id, i);
      CHECK_EQUAL(is_new, time == 0);
    }
  }
  CHECK_EQUAL(numbers->of(hash_of(kMany)).id, 0u);
  CHECK_EQUAL(numbers->of(hash_of(kMany)).is_new, false);
  numbers->clear();
  CHECK_EQUAL(numbers->of(hash_of(kMany)).id, 1u);
}

void texts_that_differ_anywhere_have_other_hashes() {
  std::set<uint64_t> hashes;
  for (const std::string_view text : {"", "a", "b", "aa", "abcdefgh", "abcdefgi", "abcdefgha", "abcdefghb"}) {
    hashes.insert(mix(1, text));
    hashes.insert(mix(2, text));
  }
  CHECK_EQUAL(hashes.size(), size_t{16});
  CHECK(mix(mix(1, "ab"), "c") != mix(mix(1, "a"), "bc"));
  CHECK_EQUAL(mix(1, std::string_view("abc\0d", 5)) == mix(1, std::string_view("abc", 3)), false);
}

}  // namespace

int main() {
  hashes_of_similar_values_differ_in_all_parts();
  the_table_keeps_65536_entries_and_finds_no_other();
  the_first_id_of_a_hash_stays();
  a_full_table_says_so_and_keeps_what_it_has();
  threads_that_number_the_same_values_agree();
  the_cache_finds_what_was_put_last();
  threads_may_use_the_cache_at_once();
  values_are_numbered_from_one_until_the_ids_run_out();
  texts_that_differ_anywhere_have_other_hashes();
  return 0;
}
