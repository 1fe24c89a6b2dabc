#include "agent/causal/experiments/readings.h"

#include "agent/causal/ledger/epochs.h"
#include "agent/causal/points/points.h"
#include "agent/core/clock.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kSwiftNs = 100'000;  // reading all points takes less, if nobody takes the core away
constexpr int kSwiftTries = 5;

}  // namespace

Reading read_points() {
  Reading reading;
  for (int attempt = 0; attempt < kSwiftTries; ++attempt) {
    reading.points.clear();
    const int64_t first_ns = monotonic_ns();
    reading.delay_ns = epoch_delay_ns();  // before the time: no more can have been inserted than has passed
    reading.ns = monotonic_ns();
    const uint32_t count = point_count();
    for (uint32_t point = 0; point < count; ++point) reading.points.push_back(visits(point));
    if (monotonic_ns() - first_ns < kSwiftNs) break;
  }
  return reading;
}

}  // namespace headway::agent::causal
