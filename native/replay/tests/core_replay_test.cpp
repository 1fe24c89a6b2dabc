// Replays on other cores: programs whose time is known by arithmetic, and columns that no recording would have.
#include "replay/core_replay.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "replay_rows.h"
#include "testing/check.h"

namespace headway {
namespace {

double on_cores(const RunSteps& run, double cores, int32_t last = -1, bool has_stolen = false, bool has_locks = true) {
  ReplayChanges changes;
  changes.cores = cores;
  changes.has_stolen = has_stolen;
  changes.has_lock_waits = has_locks;
  return replay_on_cores({{&run, nullptr, last}}, changes).front().end_ns;
}

bool is_near(double left, double right) { return std::abs(left - right) < 1e-3; }

// Four threads of 300 each, one after the other on one core.
void equal_threads_share_the_cores() {
  Rows rows;
  for (int32_t i = 0; i < 4; ++i) rows.add(i, 300 * (i + 1), 300, 300 * i, 0);
  RunSteps run(threads_of(4), 0, 1200, 1);
  rows.give(run);
  run.resolve({}, {}, {});
  CHECK(is_near(on_cores(run, 1), 1200));
  CHECK(is_near(on_cores(run, 2), 600));
  CHECK(is_near(on_cores(run, 3), 400));
  CHECK(is_near(on_cores(run, 4), 300));
  CHECK(is_near(on_cores(run, 64), 300));
}

// Thread 0 computes 100, ends the wait of 1 and computes 100 more; 1 computes 50.
void a_wait_ends_when_its_waker_gets_to_the_wakeup() {
  Rows rows;
  rows.add(1, 150, 50, 0, 100, 0);
  rows.add(0, 200, 200, 0, 0);
  RunSteps run(threads_of(2), 0, 200, 2);
  rows.give(run);
  run.resolve({}, {}, {});
  CHECK_EQUAL(run.signals().size(), size_t{1});
  CHECK(is_near(on_cores(run, 2), 200));
  CHECK(is_near(on_cores(run, 1), 250));
  CHECK(is_near(on_cores(run, 2, 1), 150));  // thread 1 alone
}

// As before, but the waking is a packet's interrupt: without the word that the thread sent it, the wait lasts as it lasted.
void a_read_ends_when_its_sender_gets_to_the_packet() {
  Rows rows;
  rows.add(1, 150, 50, 0, 100, 0);
  rows.flags.back() |= 4;
  rows.blocked_in.back() = 6;
  rows.add(0, 200, 200, 0, 0);
  const auto ends_ns = [&](const AnsweredReads& answered, double work_factor) {
    RunSteps run(threads_of(2), 0, 200, 2);
    rows.give(run);
    run.resolve({}, {}, answered);
    ReplayChanges changes;
    changes.cores = 2;
    changes.work_factor = work_factor;
    return replay_on_cores({{&run, nullptr, 1}}, changes).front().end_ns;
  };
  CHECK(is_near(ends_ns({{1}, {100}}, 0.5), 75));
  CHECK(is_near(ends_ns({}, 0.5), 125));
  CHECK(is_near(ends_ns({{1}, {99}}, 0.5), 125));  // another wait's
  CHECK(is_near(ends_ns({{1}, {100}}, 1), 150));
}

// Two threads that each claim to have been woken by what the other one did later.
void a_circle_of_waits_is_stuck() {
  Rows rows;
  rows.add(0, 20, 10, 0, 10, 1);
  rows.add(1, 20, 10, 0, 10, 0);
  RunSteps run(threads_of(2), 0, 20, 2);
  rows.give(run);
  run.resolve({}, {}, {});
  CHECK(on_cores(run, 2) < 0);
}

template <typename Number>
LockPlan random_plan(const RunSteps& run, const Number& number) {
  LockBlocks blocks;
  LockHolds holds;
  const auto small = [&](int64_t most) { return static_cast<int32_t>(std::abs(number() % most)) - 1; };
  const auto moment = [&] { return number() % (int64_t{1} << 60); };
  for (int i = 0; i < 30; ++i) {
    blocks.lock.push_back(std::max(small(4), 0));
    blocks.thread.push_back(small(8));
    blocks.waker.push_back(small(8));
    blocks.owner.push_back(small(8));
    blocks.start_ns.push_back(moment());
    blocks.end_ns.push_back(moment());
    blocks.waking_ns.push_back(moment());
    blocks.is_repark.push_back(number() % 2 == 0 ? 1 : 0);
    blocks.is_monitor_wait.push_back(number() % 4 == 0 ? 1 : 0);
    holds.lock.push_back(std::max(small(4), 0));
    holds.thread.push_back(small(8));
    holds.start_ns.push_back(moment());
    holds.end_ns.push_back(moment());
  }
  const std::vector<Acquisition> rows = acquisitions(blocks, holds);
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].got_ns <= rows[i].released_ns);
    const bool is_next = i > 0 && rows[i - 1].lock == rows[i].lock;
    CHECK(!is_next || rows[i - 1].released_ns <= rows[i].got_ns);
  }
  return plan_locks(run, rows, {{}, {true, 1, 1, false}, {false, 0.3, 1, true}, {false, 1, 3, false}}, 5);
}

void columns_that_no_recording_has_come_to_an_end() {
  std::mt19937_64 random(7);
  const auto number = [&] {
    const auto value = static_cast<int64_t>(random());
    return random() % 3 == 0 ? value : value % 1000;
  };
  for (int round = 0; round < 300; ++round) {
    Rows rows;
    const auto count = random() % 40;
    for (size_t i = 0; i < count; ++i) {
      rows.add(static_cast<int32_t>(random() % 7) - 1, number(), number(), number(), number(),
               static_cast<int32_t>(random() % 9) - 2);
      rows.tick.back() = static_cast<int16_t>(number());
      rows.stolen.back() = number();
      rows.flags.back() = static_cast<uint8_t>(random());
      rows.blocked_in.back() = static_cast<uint8_t>(random());
    }
    RunThreads threads = threads_of(5);
    for (size_t i = 0; i < 5; ++i) {
      threads.birth_ns[i] = number();
      threads.parent[i] = static_cast<int32_t>(random() % 9) - 2;
      threads.role[i] = static_cast<uint8_t>(random() % 6);
      threads.process[i] = static_cast<int32_t>(random() % 3) - 1;
    }
    RunSteps run(threads, 0, static_cast<int64_t>(random() % 100'000), 2);
    rows.give(run);
    RunStops stops{{number(), 10, 10, INT64_MAX}, {number(), number(), number(), INT64_MAX}, {0, 1, -7, 99}};
    LockWaits locks{{0, 1, 1}, {0, number(), 3}, {number(), number(), number()}};
    if (round % 3 == 0) run.tell_ends({1, 0, 1, 1, 1});
    if (round % 2 == 0) {
      run.tell_waits({{-1, 0, 0, 4, 99},
                      {number(), number(), number(), number(), number()},
                      {number(), number(), number(), number(), number()},
                      {1, 1, -1, 2, 3}});
    }
    run.resolve(stops, locks, {{-3, 0, 1, 1, 99}, {number(), number(), number(), number(), number()}});
    for (unsigned i = 0; i < 8; ++i) {
      const auto last = static_cast<int32_t>(random() % 8) - 2;
      const double end_ns = on_cores(run, i % 2 == 0 ? 1 : 3, last, (i & 2) != 0, (i & 4) != 0);
      CHECK(end_ns == -1 || end_ns >= 0);
    }
    const LockPlan plan = random_plan(run, number);
    ReplayChanges changes;
    changes.has_stolen = round % 2 == 0;
    const double end_ns = replay_on_cores({{&run, &plan, -1}}, changes).front().end_ns;
    CHECK(end_ns == -1 || end_ns >= 0);
  }
}

}  // namespace
}  // namespace headway

int main() {
  headway::equal_threads_share_the_cores();
  headway::a_wait_ends_when_its_waker_gets_to_the_wakeup();
  headway::a_read_ends_when_its_sender_gets_to_the_packet();
  headway::a_circle_of_waits_is_stuck();
  headway::columns_that_no_recording_has_come_to_an_end();
  return 0;
}
