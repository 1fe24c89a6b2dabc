#include "agent/causal/points/visits.h"

#include <algorithm>

namespace headway::agent::causal {
namespace {

uint64_t count_of(const Reading& reading, uint32_t point) {
  return point < reading.points.size() ? reading.points[point].count : 0;
}

std::string latency_row(size_t number, const LatencyPair& pair, const Reading& begin, const Reading& end,
                        int64_t begin_clock_ns) {
  const Visits begun = between(begin, end, pair.begin);
  const Visits ended = between(begin, end, pair.end);
  const uint64_t in_flight = count_of(begin, pair.begin) - count_of(begin, pair.end);
  const auto dur_ns = static_cast<uint64_t>(end.ns - begin.ns - (end.delay_ns - begin.delay_ns));
  const uint64_t end_clock_ns = static_cast<uint64_t>(begin_clock_ns) + dur_ns;
  const uint64_t in_flight_ns = in_flight * dur_ns + begun.count * end_clock_ns -
                                static_cast<uint64_t>(begun.clock_ns) - ended.count * end_clock_ns +
                                static_cast<uint64_t>(ended.clock_ns);
  return '[' + std::to_string(number) + ',' + std::to_string(begun.count) + ',' + std::to_string(ended.count) + ',' +
         std::to_string(static_cast<int64_t>(in_flight)) + ',' + std::to_string(static_cast<int64_t>(in_flight_ns)) +
         ']';
}

}  // namespace

Visits between(const Reading& begin, const Reading& end, size_t point) {
  const Visits before = point < begin.points.size() ? begin.points[point] : Visits{};
  const Visits after = end.points[point];
  return {after.count - before.count,
          static_cast<int64_t>(static_cast<uint64_t>(after.clock_ns) - static_cast<uint64_t>(before.clock_ns))};
}

std::string latency_rows(std::span<const LatencyPair> pairs, const Reading& begin, const Reading& end,
                         int64_t begin_clock_ns) {
  std::string rows;
  for (size_t number = 0; number < pairs.size(); ++number) {
    const LatencyPair& pair = pairs[number];
    if (std::max(pair.begin, pair.end) >= end.points.size()) continue;
    if (!rows.empty()) rows += ',';
    rows += latency_row(number, pair, begin, end, begin_clock_ns);
  }
  return rows;
}

}  // namespace headway::agent::causal
