// Slices of made-up runs, row by row, and their threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/run_steps.h"
#include "testing/check.h"

namespace headway {

struct Rows {
  std::vector<int16_t> tick;
  std::vector<int64_t> end, running, runnable, blocked, stolen;
  std::vector<int32_t> thread, waker;
  std::vector<uint8_t> flags, blocked_in;

  void add(int32_t who, int64_t until, int64_t ran, int64_t ready, int64_t waited, int32_t by = -1) {
    tick.push_back(1);
    end.push_back(until);
    running.push_back(ran);
    runnable.push_back(ready);
    blocked.push_back(waited);
    stolen.push_back(0);
    thread.push_back(who);
    waker.push_back(by);
    flags.push_back(waited > 0 ? 1 : 0);
    blocked_in.push_back(1);
  }
  void give(RunSteps& run) const {
    StoredSlices slices;
    slices.rows = tick.size();
    slices.end_ticks = end.data();
    slices.running_ticks = running.data();
    slices.runnable_ticks = runnable.data();
    slices.blocked_ticks = blocked.data();
    slices.stolen_ticks = stolen.data();
    slices.thread_id = thread.data();
    slices.waker_id = waker.data();
    slices.flags = flags.data();
    slices.blocked_in = blocked_in.data();
    CHECK(run.batch(slices, tick.data()));
  }
};

inline RunThreads threads_of(size_t count, uint8_t role = 0) {
  return {std::vector<int64_t>(count, INT64_MIN), std::vector<int32_t>(count, -1), std::vector<uint8_t>(count, role),
          std::vector<int32_t>(count, 0)};
}

}  // namespace headway
