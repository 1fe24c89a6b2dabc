#include "agent/causal/readings.h"

#include <algorithm>

#include "agent/agent.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kSwiftNs = 100'000;  // reading all points takes less, if nobody takes the core away
constexpr int kSwiftTries = 5;

uint64_t count_of(const Reading& reading, uint32_t point) {
  return point < reading.points.size() ? reading.points[point].count : 0;
}

}  // namespace

Reading read_points() {
  Reading reading;
  for (int attempt = 0; attempt < kSwiftTries; ++attempt) {
    reading.points.clear();
    const int64_t first_ns = now_ns();
    reading.delay_ns = epoch_delay_ns();  // before the time: no more can have been inserted than has passed
    reading.ns = now_ns();
    const uint32_t count = point_count();
    for (uint32_t point = 0; point < count; ++point) reading.points.push_back(visits(point));
    if (now_ns() - first_ns < kSwiftNs) break;
  }
  return reading;
}

Visits between(const Reading& begin, const Reading& end, size_t point) {
  const Visits before = point < begin.points.size() ? begin.points[point] : Visits{};
  const Visits after = end.points[point];
  return {after.count - before.count,
          static_cast<int64_t>(static_cast<uint64_t>(after.clock_ns) - static_cast<uint64_t>(before.clock_ns))};
}

std::string latency_of(uint32_t pair, const Reading& begin, const Reading& end, int64_t begin_clock_ns) {
  const LatencyPair points = latency_pair(pair);
  if (std::max(points.begin, points.end) >= end.points.size()) return {};
  const Visits begun = between(begin, end, points.begin);
  const Visits ended = between(begin, end, points.end);
  const uint64_t in_flight = count_of(begin, points.begin) - count_of(begin, points.end);
  const auto dur_ns = static_cast<uint64_t>(end.ns - begin.ns - (end.delay_ns - begin.delay_ns));
  const uint64_t end_clock_ns = static_cast<uint64_t>(begin_clock_ns) + dur_ns;
  const uint64_t in_flight_ns = in_flight * dur_ns + begun.count * end_clock_ns -
                                static_cast<uint64_t>(begun.clock_ns) - ended.count * end_clock_ns +
                                static_cast<uint64_t>(ended.clock_ns);
  return '[' + std::to_string(pair) + ',' + std::to_string(begun.count) + ',' + std::to_string(ended.count) + ',' +
         std::to_string(static_cast<int64_t>(in_flight)) + ',' + std::to_string(static_cast<int64_t>(in_flight_ns)) +
         ']';
}

}  // namespace headway::agent::causal
