// The sums of a blocker are those of its blocks: with many threads, past every limit, and at the end.
#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "agent/core/clock.h"
#include "lock_recording.h"

namespace headway::agent {
namespace {

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
        recording->held(self.java, self.locks,
                        {thing, address_of(thing), thing->hash, t, monotonic_ns(), monotonic_ns()});
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
}  // namespace headway::agent

int main() {
  using namespace headway::agent;
  the_sums_of_64_threads_are_those_of_their_blocks_open_ones_too(false);
  the_sums_of_64_threads_are_those_of_their_blocks_open_ones_too(true);
  ten_thousand_threads_wait_on_one_lock();
  past_the_files_budget_only_the_sums_go_on();
  a_full_disk_caps_too();
  blockers_below_the_threshold_cost_no_slot_and_are_counted();
  ending_while_threads_go_on_harms_nothing();
}
