// A line that an experiment may make faster, by what samples lately found in it.
#pragma once

#include <cstdint>

namespace headway::agent::causal {

struct Candidate {
  uint32_t line = 0;
  int64_t weight_ns = 0;  // running and asleep, lately
  int64_t idle_ns = 0;    // since it was last seen to run
  int64_t sleep_ns = 0;   // a sleep or wait in it, on average, times how many do at once; 0: none
};

}  // namespace headway::agent::causal
