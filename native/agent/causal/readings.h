// What is read at both ends of an experiment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/causal/causal.h"

namespace headway::agent::causal {

struct Reading {
  int64_t ns = 0;
  int64_t delay_ns = 0;
  std::vector<Visits> points;
};

// As nearly at one moment as can be.
Reading read_points();
// Of a point, from one reading to the next.
Visits between(const Reading& begin, const Reading& end, size_t point);
// Little's law: the time that all requests together spent between the two points of a pair, delays apart. Sums of
// clocks wrap, their difference does not. JSON; empty: the pair is newer than the readings.
std::string latency_of(uint32_t pair, const Reading& begin, const Reading& end, int64_t begin_clock_ns);

}  // namespace headway::agent::causal
