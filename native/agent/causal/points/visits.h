// What visits of progress points add up to between the ends of an experiment. Knows nothing of the JVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headway::agent::causal {

struct Visits {
  uint64_t count = 0;
  int64_t clock_ns = 0;  // latency points only: sum over visits of (time of the visit - delays inserted so far)
};

// Latency pairs: the points of one, `begin` where it begins.
struct LatencyPair {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// What is read at both ends of an experiment.
struct Reading {
  int64_t ns = 0;
  int64_t delay_ns = 0;
  std::vector<Visits> points;
};

// Of a point, from one reading to the next.
Visits between(const Reading& begin, const Reading& end, size_t point);
// Little's law: the time that all requests together spent between the two points of each pair, delays apart. Sums of
// clocks wrap, their difference does not. JSON rows with commas between them: the pair's place in `pairs`, begins,
// ends, in flight at the begin, nanoseconds in flight. A pair that is newer than the readings has none.
std::string latency_rows(std::span<const LatencyPair> pairs, const Reading& begin, const Reading& end,
                         int64_t begin_clock_ns);

}  // namespace headway::agent::causal
