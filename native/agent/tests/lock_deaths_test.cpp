// Objects that the JVM collects: told once, their references given back, their sums kept.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "lock_recording.h"

namespace headway::agent {
namespace {

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

// Each has a name of its own, which would take a row each.
void forgotten_locks_of_classes_share_one_row(uint32_t type, std::string_view name_of_all) {
  LockRecords::Options options;
  options.forget_dead = true;
  Recording recording(options);
  Thread thread;
  constexpr uint32_t kLocks = 50;
  std::vector<std::unique_ptr<Thing>> things;
  for (uint32_t i = 0; i < kLocks; ++i) {
    things.push_back(std::make_unique<Thing>(i + 1, type));
    LockRecords::Beginning it = park(things.back().get(), 1);
    it.kind = HW_BK_MONITOR;
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, it), 0);
  }
  for (auto& thing : things) thing->collected = true;
  recording.collect();
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.dead.size(), size_t{kLocks});
  for (const hw_blocker_dead& dead : all.dead) CHECK_EQUAL(dead.folded_into, all.dead[0].folded_into);
  const Table table = recording.table();
  CHECK_EQUAL(table.of(all.dead[0].folded_into).times_parked, uint64_t{kLocks});
  CHECK(all.class_names.back() == name_of_all);
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
        // So often that they are not short-lived ones, which have no slots.
        for (Thing* thing : {own.get(), &common, own.get(), own.get()}) {
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
  CHECK_EQUAL(table.sum(&hw_lock_slot::times_parked), uint64_t{kThreads} * kRounds * 4);
  CHECK_EQUAL(table.header.dropped, 0u);
}

}  // namespace
}  // namespace headway::agent

int main() {
  using namespace headway::agent;
  dead_blockers_are_told_once_and_their_references_given_back();
  forgotten_blockers_leave_their_sums_to_their_class();
  forgotten_locks_of_classes_share_one_row(Things::kIntArray, kClassLock);
  forgotten_locks_of_classes_share_one_row(Things::kClassObjects, kClassObject);
  a_full_table_forgets_the_dead_and_sums_up_by_class_what_found_no_room();
  blockers_die_and_are_forgotten_while_64_threads_go_on();
}
