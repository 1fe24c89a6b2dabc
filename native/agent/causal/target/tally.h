// Samples summed up by line: how much time each takes, and the notes that say so.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/causal/sampling/lines.h"
#include "agent/causal/sampling/sample.h"
#include "agent/causal/target/candidate.h"

namespace headway::agent::causal {

// Targets that are no lines have ids beyond those.
constexpr uint32_t kMethodTarget = kMostLines;
constexpr uint32_t kLockTarget = kMostLines + 1;
constexpr uint32_t kCollectionsTarget = kMostLines + 2;

void clear_tally() noexcept;
void tally(const Sample& sample) noexcept;  // [signal]

// How much time lines take at present: an average over the last seconds, forgotten by and by.
class Recent {
 public:
  std::vector<Candidate> candidates(int64_t now_ns);

 private:
  std::vector<double> weights_ns_;
  std::vector<int64_t> seen_ns_;
  std::vector<int64_t> asleep_ns_;     // up to here blocked time has been looked at
  std::vector<int64_t> may_sleep_ns_;  // so much more of it counts
  std::vector<int64_t> runs_until_;    // when it was last seen, and as long as its last sleep was: the next may be on
  int64_t then_ns_ = 0;
};

// The notes; on the experiments' thread only. A line is introduced before it is first named.
void introduce_line(uint32_t line);
void note_profile(bool even_unchanged);

}  // namespace headway::agent::causal
