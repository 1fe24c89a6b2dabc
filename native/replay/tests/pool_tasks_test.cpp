// Tasks of pools instead of their threads: programs whose time is known by arithmetic, and columns that no recording would have.
#include "replay/pool_tasks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "replay/core_replay.h"
#include "replay_rows.h"
#include "testing/check.h"

namespace headway {
namespace {

constexpr int32_t kThreads = 5, kPools = 3;

double end_of(const RunSteps& run, double cores, std::vector<uint32_t> workers, const StepChanges* changed = nullptr) {
  ReplayChanges changes;
  changes.cores = cores;
  return replay_on_cores({{&run, nullptr, -1, changed, nullptr, std::move(workers)}}, changes).front().end_ns;
}

int64_t running_ns(const RunSteps& run) {
  return std::accumulate(run.steps().begin(), run.steps().end(), int64_t{0},
                         [](int64_t sum, const Step& step) { return sum + step.running_ns(); });
}

// One worker does four tasks of 100 each, which were all in the queue when it began.
void tasks_that_were_in_the_queue_run_side_by_side_with_more_workers() {
  Rows rows;
  rows.add(0, 400, 400, 0, 0);
  RunSteps run(threads_of(1), 0, 400, 1);
  rows.give(run);
  run.resolve({}, {}, {});
  const PoolTasks tasks{{0, 0, 0, 0}, {0, 100, 200, 300}, {0, 0, 0, 0}, {0, 0, 0, 0}, {-1, -1, -1, -1}, {0, 0, 0, 0}};
  const RunSteps split = with_tasks(run, tasks, {});
  CHECK_EQUAL(running_ns(split), 400);
  CHECK_EQUAL(split.threads().size(), size_t{5});
  for (const auto& [workers, wanted_ns] : {std::pair{1U, 400.0}, {2U, 200.0}, {3U, 200.0}, {4U, 100.0}}) {
    CHECK(std::abs(end_of(split, 4, {workers}) - wanted_ns) < 1e-3);
  }
}

template <typename Number>
RunSteps random_run(std::mt19937_64& random, const Number& number) {
  Rows rows;
  for (auto left = random() % 40; left > 0; --left) {
    rows.add(static_cast<int32_t>(random() % kThreads), number(), number(), number(), number(),
             static_cast<int32_t>(random() % (kThreads + 3)) - 2);
    rows.tick.back() = static_cast<int16_t>(number());
    rows.stolen.back() = number();
    rows.flags.back() = static_cast<uint8_t>(random());
    rows.blocked_in.back() = static_cast<uint8_t>(random() % 12);
  }
  RunThreads threads = threads_of(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    threads.birth_ns[i] = number();
    threads.parent[i] = static_cast<int32_t>(random() % (kThreads + 2)) - 1;
    threads.role[i] = static_cast<uint8_t>(random() % 6);
  }
  RunSteps run(threads, 0, static_cast<int64_t>(random() % 100'000), 2);
  rows.give(run);
  if (random() % 2 == 0) run.tell_ends(std::vector<uint8_t>(kThreads, 1));
  run.resolve({}, {}, {});
  return run;
}

template <typename Number>
RunSteps random_tasks(const RunSteps& run, std::mt19937_64& random, const Number& number) {
  std::vector<std::pair<int32_t, int64_t>> begins;
  for (auto left = random() % 20; left > 0; --left) begins.emplace_back(random() % kThreads, number());
  std::sort(begins.begin(), begins.end());
  PoolTasks tasks;
  for (const auto& [thread, begin_ns] : begins) {
    tasks.thread.push_back(thread);
    tasks.begin_ns.push_back(begin_ns);
    tasks.pool.push_back(static_cast<int32_t>(random() % kPools));
    tasks.has_wait.push_back(random() % 2);
    tasks.submitter.push_back(static_cast<int32_t>(random() % (kThreads + 1)) - 1);
    tasks.submitted_ns.push_back(number());
  }
  PoolJoins joins;
  for (auto left = random() % 6; left > 0; --left) {
    joins.thread.push_back(static_cast<int32_t>(random() % kThreads));
    joins.ns.push_back(number());
    joins.since_ns.push_back(number());
    joins.pool.push_back(static_cast<int32_t>(random() % (kPools + 2)) - 1);
  }
  CHECK(tasks.is_sound() && joins.is_sound());
  return with_tasks(run, tasks, joins);
}

void columns_that_no_recording_has_lose_nothing_that_ran_and_come_to_an_end() {
  std::mt19937_64 random(11);
  const auto number = [&] {
    const auto value = static_cast<int64_t>(random());
    return random() % 4 == 0 ? value : std::abs(value % 100'000);
  };
  for (int round = 0; round < 300; ++round) {
    const RunSteps run = random_run(random, number);
    const RunSteps split = random_tasks(run, random, number);
    CHECK_EQUAL(running_ns(split), running_ns(run));
    const size_t steps = split.steps().size();
    for (const StepSignal& each : split.signals()) {
      CHECK(each.step < steps && (each.what != StepSignal::kEndsWait || each.target < steps));
    }
    StepChanges changed{std::vector<double>(steps, -1.0), std::vector<double>(steps, 1.0)};
    for (double& ns : changed.wait_ns) ns = random() % 4 == 0 ? static_cast<double>(random() % 1'000) : -1.0;
    for (const uint32_t workers : {1U, 2U, 9U}) {
      const std::vector<uint32_t> of_each(kPools, workers);
      const double as_was_ns = end_of(split, 2, of_each), changed_ns = end_of(split, 2, of_each, &changed);
      CHECK(as_was_ns == -1 || as_was_ns >= 0);
      CHECK(changed_ns == -1 || changed_ns >= 0);
    }
  }
}

}  // namespace
}  // namespace headway

int main() {
  headway::tasks_that_were_in_the_queue_run_side_by_side_with_more_workers();
  headway::columns_that_no_recording_has_lose_nothing_that_ran_and_come_to_an_end();
}
