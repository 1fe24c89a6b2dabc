// Classes whose objects are waited for once or twice: recorded together, each block with its object's identity hash.
#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "lock_recording.h"

namespace headway::agent {
namespace {

constexpr uint32_t kClass = 1;  // remainder of the hashes of the class
constexpr uint32_t kEnough = 1100;

using Made = std::vector<std::unique_ptr<Thing>>;

// Waits for new things of the class, for each so many times.
Made wait_for_new(Recording& recording, Thread& thread, uint32_t first, uint32_t count, uint32_t parks,
                  uint32_t owner = 0) {
  Made things;
  for (uint32_t i = first; i < first + count; ++i) {
    things.push_back(std::make_unique<Thing>(3 * i + kClass));
    for (uint32_t n = 0; n < parks; ++n) {
      const auto wait = recording->wait_begins(thread.java, thread.locks, park(things.back().get(), 1, owner));
      recording->wait_ends(thread.locks, wait, 0);
    }
  }
  return things;
}

// How many of further new things got a slot each.
int64_t own_slots(uint32_t parks, uint32_t owner = 0, const LockRecords::Options& options = {}) {
  Recording recording(options);
  Thread thread;
  const Made first = wait_for_new(recording, thread, 0, kEnough, parks, owner);
  recording.collect();
  const int64_t before = Things::references.load();
  const Made more = wait_for_new(recording, thread, kEnough, 100, 1);
  return Things::references.load() - before;
}

void a_class_of_which_a_thousand_were_waited_for_once_or_twice_is_recorded_together() {
  CHECK_EQUAL(own_slots(1), 0);
  CHECK_EQUAL(own_slots(2), 0);
}

void objects_that_are_waited_for_more_often_stay_apart_and_so_do_all_with_a_threshold() {
  CHECK_EQUAL(own_slots(3), 100);
  LockRecords::Options options;
  options.park_threshold = 1;
  CHECK_EQUAL(own_slots(2, 0, options), 0);  // none of them has come to its second park
  Recording recording;
  Thread thread;
  const Made first = wait_for_new(recording, thread, 0, kEnough, 1);
  recording.collect();
  const int64_t before = Things::references.load();
  const Made owned = wait_for_new(recording, thread, kEnough, 100, 1, 7);
  CHECK_EQUAL(Things::references.load() - before, 100);  // locks
}

// Waits for that many new things of a class, from this hash on, once each; the class is told, or not.
Made wait_once(Recording& recording, Thread& thread, uint32_t type, uint32_t first, uint32_t count, bool told = true) {
  Made things;
  for (uint32_t i = first; i < first + count; ++i) {
    things.push_back(std::make_unique<Thing>(i, type));
    LockRecords::Beginning it = park(things.back().get(), 1);
    if (!told) it.class_hash = 0;
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, it), 0);
  }
  return things;
}

void a_class_that_comes_after_many_others_is_judged_as_well() {
  Recording recording;
  Thread thread;
  constexpr uint32_t kLast = 40;
  Made others;
  for (uint32_t type = 0; type < kLast; ++type) {
    Made one = wait_once(recording, thread, type, type + 1, 1);
    others.push_back(std::move(one.front()));
  }
  const Made first = wait_once(recording, thread, kLast, 1000, kEnough);
  recording.collect();
  const int64_t before = Things::references.load();
  const Made more = wait_once(recording, thread, kLast, 10'000, 100);
  CHECK_EQUAL(Things::references.load() - before, 0);
}

void objects_whose_class_is_not_told_stay_apart_until_it_is() {
  Recording recording;
  Thread thread;
  const Made first = wait_once(recording, thread, 1, 1000, kEnough, false);
  recording.collect();
  const int64_t before = Things::references.load();
  const Made unknown = wait_once(recording, thread, 1, 10'000, 100, false);
  CHECK_EQUAL(Things::references.load() - before, 100);
  const Made told = wait_once(recording, thread, 1, 20'000, 2, true);  // the first of them tells it
  CHECK_EQUAL(Things::references.load() - before, 101);
}

void each_block_names_its_object_and_the_sums_of_the_class_are_those_of_all() {
  Recording recording;
  Thread thread;
  const Made first = wait_for_new(recording, thread, 0, kEnough, 1);
  recording.collect();
  constexpr uint32_t kMore = 5000;
  const Made more = wait_for_new(recording, thread, kEnough, kMore, 1);
  const Made often = wait_for_new(recording, thread, kEnough + kMore, 1, 100);
  recording.end();
  const Recorded all = recording.spool();
  const Table table = recording.table();
  check_sums_against_blocks(all, table);
  std::set<uint32_t> named;
  for (const hw_block& block : all.blocks) {
    if ((block.flags & HW_BL_TOGETHER) == 0) continue;
    CHECK_EQUAL(table.of(block.blocker_id).identity_hash, 0u);
    named.insert(block.owner_java_id);
  }
  CHECK_EQUAL(named.size(), size_t{kMore} + 1);
  const auto slot = std::find_if(table.slots.begin(), table.slots.end(),
                                 [&](const hw_lock_slot& it) { return it.identity_hash == often[0]->hash; });
  CHECK(slot != table.slots.end());
  CHECK_EQUAL(slot->times_parked, 98u);  // its own from its third wait on
}

// Each comparison is a call of the JVM's.
void what_a_thread_waits_for_again_is_compared_only_where_it_has_moved_and_a_short_lived_object_never() {
  Recording recording;
  Thread thread;
  const Made first = wait_for_new(recording, thread, 0, kEnough, 1);
  recording.collect();
  Thing lasting(3);  // of another class
  uintptr_t address = address_of(&lasting);
  const auto wait = [&] {
    LockRecords::Beginning it = park(&lasting, 1);
    it.address = address;
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, it), 0);
  };
  wait();
  const uint64_t before = Things::compared.load();
  for (int i = 0; i < 10; ++i) wait();
  CHECK_EQUAL(Things::compared.load() - before, 0u);
  const Made more = wait_for_new(recording, thread, kEnough, 10, 1);
  wait();
  CHECK_EQUAL(Things::compared.load() - before, 0u);
  address += 64;  // the collector has moved it
  wait();
  CHECK_EQUAL(Things::compared.load() - before, 1u);
  wait();
  CHECK_EQUAL(Things::compared.load() - before, 1u);
  address = 0;  // it is not known where it is
  for (int i = 0; i < 3; ++i) wait();
  CHECK_EQUAL(Things::compared.load() - before, 4u);
  const Table table = recording.table();
  const auto its = [&](const hw_lock_slot& slot) {
    return slot.identity_hash == lasting.hash && slot.times_parked > 1;
  };
  const auto slot = std::ranges::find_if(table.slots, its);
  CHECK(slot != table.slots.end());
  CHECK_EQUAL(slot->times_parked, 17u);
}

void each_object_has_its_own_sums_once_no_single_blocks_are_written() {
  Recording recording({}, 2ULL << 20);
  Thread thread;
  const Made first = wait_for_new(recording, thread, 0, kEnough, 1);
  recording.collect();
  uint32_t next = kEnough;
  Made many;
  for (; recording.table().header.capped_ns == 0; next += 100) many = wait_for_new(recording, thread, next, 100, 1);
  const int64_t before = Things::references.load();
  const Made last = wait_for_new(recording, thread, next, 10, 1);
  CHECK_EQUAL(Things::references.load() - before, 10);
}

void many_threads_wait_for_objects_of_two_such_classes_at_once() {
  Recording recording;
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kEach = 3000;
  std::atomic<bool> over{false};
  std::atomic<bool> may_free{false};
  std::thread care([&] {
    while (!over.load()) recording.collect();
  });
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&, t] {
      Thread self;
      Made things;
      for (uint32_t i = 0; i < kEach; ++i) {
        things.push_back(std::make_unique<Thing>(3 * (t * kEach + i) + i % 2));
        const auto wait = recording->wait_begins(self.java, self.locks, park(things.back().get(), t));
        recording->waking(self.java, self.locks, 1 + i % kThreads, t);
        recording->wait_ends(self.locks, wait, 0);
      }
      while (!may_free.load()) std::this_thread::yield();  // the things are looked at until the end
    });
  }
  while (recording.table().sum(&hw_lock_slot::times_parked) < uint64_t{kThreads} * kEach) std::this_thread::yield();
  over.store(true);
  care.join();
  recording.end();
  may_free.store(true);
  for (auto& thread : threads) thread.join();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), size_t{kThreads} * kEach);
  check_sums_against_blocks(all, recording.table());
  CHECK(all.blockers.size() < all.blocks.size());
}

}  // namespace
}  // namespace headway::agent

int main() {
  using namespace headway::agent;
  a_class_of_which_a_thousand_were_waited_for_once_or_twice_is_recorded_together();
  objects_that_are_waited_for_more_often_stay_apart_and_so_do_all_with_a_threshold();
  a_class_that_comes_after_many_others_is_judged_as_well();
  objects_whose_class_is_not_told_stay_apart_until_it_is();
  each_block_names_its_object_and_the_sums_of_the_class_are_those_of_all();
  what_a_thread_waits_for_again_is_compared_only_where_it_has_moved_and_a_short_lived_object_never();
  each_object_has_its_own_sums_once_no_single_blocks_are_written();
  many_threads_wait_for_objects_of_two_such_classes_at_once();
  return 0;
}
