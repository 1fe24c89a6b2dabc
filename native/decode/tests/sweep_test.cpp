// The sweep against counting moment by moment, through bins that widen, and stolen time through intervals longer than
// the sweep remembers.
#include "decode/sweep.h"

#include <map>
#include <random>
#include <utility>

#include "agent/tests/check.h"

namespace headway {
namespace {

using ByLevel = std::map<std::pair<uint32_t, uint32_t>, int64_t>;

ByLevel by_level(const Sweep& sweep) {
  ByLevel found;
  for (const ActivityRow& row : sweep.rows()) found[{row.levels.active[0], row.levels.running[0]}] += row.dur_ns;
  return found;
}

void levels_are_those_of_counting() {
  std::mt19937 random(1);
  constexpr int kThreads = 5, kEnd = 20'000;
  Sweep sweep({100, kEnd, 10, 100, 40}, std::vector<uint8_t>(kThreads, 0));
  Level level[kThreads] = {};
  ByLevel wanted;
  for (int ns = 0; ns < kEnd; ++ns) {
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      if (random() % 40 != 0) continue;
      level[thread] = static_cast<Level>(random() % 3);
      sweep.change(ns, thread, level[thread]);
    }
    uint32_t active = 0, running = 0;
    for (const Level each : level) {
      active += each != Level::kIdle ? 1 : 0;
      running += each == Level::kRunning ? 1 : 0;
    }
    if (ns >= 100) ++wanted[{active, running}];
  }
  sweep.finish();
  CHECK(by_level(sweep) == wanted);
  CHECK(sweep.rows().size() <= 40);
  CHECK(sweep.bin_ns() > 10);
}

// Thread 0 runs all the time and is robbed of half of it, while thread 1 makes 100,000 changes: more than are
// remembered one by one. Wherever thread 1 was, thread 0 was robbed alike.
void stolen_time_finds_the_levels_of_a_long_interval() {
  Sweep sweep({0, 2'000'000, 1 << 20, 0, 1 << 17}, {0, 0});
  sweep.change(0, 0, Level::kRunning);
  for (int i = 0; i < 100'000; ++i) sweep.change(1 + 20 * i, 1, i % 2 == 0 ? Level::kRunnable : Level::kIdle);
  sweep.change(2'000'000, 0, Level::kIdle, 1'000'000);
  sweep.finish();
  int64_t stolen = 0;
  for (const ActivityRow& row : sweep.rows()) {
    stolen += row.stolen_ns;
    const int64_t off = row.stolen_ns - row.dur_ns / 2;
    CHECK(off >= -4 && off <= 4);
  }
  CHECK(stolen == 1'000'000);
}

void threads_that_are_not_counted_leave_no_trace() {
  Sweep sweep({0, 100, 100, 0, 10}, {kNotCounted, 2});
  sweep.change(10, 0, Level::kRunning);
  sweep.change(20, 1, Level::kRunning);
  sweep.finish();
  CHECK(sweep.rows().size() == 2);
  CHECK(sweep.rows()[1].levels.running[2] == 1 && sweep.rows()[1].levels.running[0] == 0);
}

}  // namespace
}  // namespace headway

int main() {
  headway::levels_are_those_of_counting();
  headway::stolen_time_finds_the_levels_of_a_long_interval();
  headway::threads_that_are_not_counted_leave_no_trace();
  return 0;
}
