// Waits of replayed threads, in the order in which they were over in the recording: where threads wait in a circle, the first goes.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace headway {

// Over so long after the run began; ended in the same moment, the thread with the lower number goes first.
struct EndedWait {
  int64_t woken_ns;
  uint32_t thread;
  uint32_t step;
  bool operator>(const EndedWait& other) const {
    return woken_ns != other.woken_ns ? woken_ns > other.woken_ns : thread > other.thread;
  }
};

using EndedWaits = std::priority_queue<EndedWait, std::vector<EndedWait>, std::greater<>>;

}  // namespace headway
