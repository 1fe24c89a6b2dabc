// The rows of the table `slice` as they leave the state machine, column by column, in the form they are stored in
// (src/headway/store/packing.py): times in ticks of tick_ns, small facts as bits of `flags` (SliceFlags).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/stored_slices.h"

namespace headway {

struct SliceBatch {
  std::vector<int32_t> thread_id;
  std::vector<int64_t> end_ticks;  // start + running
  std::vector<int64_t> running_ticks;
  std::vector<int64_t> runnable_ticks;
  std::vector<int64_t> blocked_ticks;
  std::vector<int64_t> stolen_ticks;
  std::vector<int32_t> waker_id;
  std::vector<int16_t> cpu;
  std::vector<uint8_t> flags;
  std::vector<uint8_t> blocked_in;  // hw_blocked_in
  // What each counter counted while it ran, -1: not known; then for each group of them how long it did not count, ns.
  std::vector<std::vector<int64_t>> counts;

  size_t size() const { return thread_id.size(); }
  void reserve(size_t rows) {
    thread_id.reserve(rows);
    end_ticks.reserve(rows);
    running_ticks.reserve(rows);
    runnable_ticks.reserve(rows);
    blocked_ticks.reserve(rows);
    stolen_ticks.reserve(rows);
    waker_id.reserve(rows);
    cpu.reserve(rows);
    flags.reserve(rows);
    blocked_in.reserve(rows);
    for (auto& each : counts) each.reserve(rows);
  }
};

}  // namespace headway
