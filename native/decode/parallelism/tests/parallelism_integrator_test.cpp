// The integrator against counting moment by moment, through bins that widen, and stolen time through intervals longer
// than it remembers.
#include "decode/parallelism/parallelism_integrator.h"

#include <map>
#include <random>
#include <utility>

#include "decode/parallelism/reverse_parallelism.h"
#include "testing/check.h"

namespace headway {
namespace {

using ByLevel = std::map<std::pair<uint32_t, uint32_t>, int64_t>;

ByLevel by_level(const ParallelismIntegrator& sweep) {
  ByLevel found;
  for (const ActivityRow& row : sweep.rows()) found[{row.levels.active[0], row.levels.running[0]}] += row.dur_ns;
  return found;
}

void levels_are_those_of_counting() {
  std::mt19937 random(1);
  constexpr int kThreads = 5, kEnd = 20'000;
  ParallelismIntegrator sweep({100, kEnd, 10, 100, 40}, std::vector<uint8_t>(kThreads, 0));
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
  ParallelismIntegrator sweep({0, 2'000'000, 1 << 20, 0, 1 << 17}, {0, 0});
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
  ParallelismIntegrator sweep({0, 100, 100, 0, 10}, {kNotCounted, 2});
  sweep.change(10, 0, Level::kRunning);
  sweep.change(20, 1, Level::kRunning);
  sweep.finish();
  CHECK(sweep.rows().size() == 2);
  CHECK(sweep.rows()[1].levels.running[2] == 1 && sweep.rows()[1].levels.running[0] == 0);
}

// Thread 0 (vm) runs from 10 to 90, and collects from 20 to 40, from 40 to 50 and from 80 on; in mirrored time as well.
void a_thread_that_collects_counts_as_gc_meanwhile() {
  const std::vector<KindSpan> spans{{20, 40, 0, 1}, {40, 50, 0, 1}, {80, 200, 0, 1}, {5, 5, 0, 1}, {0, 9, 7, 1}};
  ParallelismIntegrator sweep({0, 100, 100, 0, 10}, {3}, spans);
  sweep.change(10, 0, Level::kRunnable);
  sweep.change(30, 0, Level::kRunning);
  sweep.change(90, 0, Level::kIdle, 60);
  sweep.finish();
  int64_t running[kKinds] = {}, active[kKinds] = {}, stolen = 0;
  for (const ActivityRow& row : sweep.rows()) {
    for (int kind = 0; kind < kKinds; ++kind) {
      running[kind] += row.levels.running[kind] * row.dur_ns;
      active[kind] += row.levels.active[kind] * row.dur_ns;
    }
    stolen += row.stolen_ns;
  }
  CHECK(running[1] == 30 && running[3] == 30);
  CHECK(active[1] == 40 && active[3] == 40);
  CHECK(stolen == 60);
  CHECK(sweep.threads()[0].other_kind_running_ns == 30 && sweep.threads()[0].other_kind_active_ns == 40);

  const int32_t thread = 0;
  const int64_t start = 30, runnable = 20, ran = 60, taken = 60;
  std::vector<ActivityRow> rows;
  const ParallelismIntegrator again =
      integrate_slices({1, &thread, &start, &runnable, &ran, &taken}, {3}, 25, 85, 7, &rows, spans);
  int64_t gc = 0, vm = 0;
  for (const ActivityRow& row : rows) {
    gc += row.levels.running[1] * row.dur_ns;
    vm += row.levels.running[3] * row.dur_ns;
  }
  CHECK(gc == 25 && vm == 30);
  CHECK(again.threads()[0].other_kind_active_ns == 30);
}

}  // namespace
}  // namespace headway

int main() {
  headway::levels_are_those_of_counting();
  headway::stolen_time_finds_the_levels_of_a_long_interval();
  headway::threads_that_are_not_counted_leave_no_trace();
  headway::a_thread_that_collects_counts_as_gc_meanwhile();
  return 0;
}
