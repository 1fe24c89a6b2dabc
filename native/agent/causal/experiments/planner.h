// Plans experiments: which line is made how much faster next, and for how long. Knows nothing of the JVM nor of clocks.
//
//   - Experiments alternate: one at 0 %, one at a speedup, both with the same line, so that each speedup has a
//     neighbour in time to be compared with (programs warm up, collect, and share their machine).
//   - A line gets some such pairs in a row, its turn. Turns go in proportion to the time that lines lately took; a line
//     of 1 % or more has a least share, so that none starves. One that runs no longer (a program's start-up) has none,
//     however much it ran.
//   - A line's first speedups are few and far apart, so that its slope is known early; then each of 5, 10 .. 100 %
//     comes equally often, in an order in which neighbours are far apart.
//   - A turn ends early when the line is seen to run no longer.
//   - An experiment lasts until a progress point is likely to have been visited often enough. Before the first visit of
//     all nothing tells how long that is. One of a line that sleeps lasts for many sleeps: the last of them, which does
//     not end in it, is not made shorter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/causal/target/candidate.h"

namespace headway::agent::causal {

struct Plan {
  uint32_t line = 0;  // 0: none yet, only time passes
  int speedup_pct = 0;
  int64_t dur_ns = 0;
  bool begins_pair = false;
};

// What came of a plan.
struct Outcome {
  uint64_t visits = 0;  // of the progress point that was visited most
  uint64_t hits = 0;    // samples of the line
};

struct PlannerOptions {
  uint64_t seed = 1;
  int min_visits = 20;
  int64_t fixed_ns = 0;        // 0: adapts
  uint32_t fixed_line = 0;     // 0: chosen
  int fixed_speedup_pct = -1;  // -1: chosen
};

// Chooses line, speedup and length of the next experiment.
class Planner {
 public:
  explicit Planner(const PlannerOptions& options);

  // The line that was asked for has been seen now.
  void fix_line(uint32_t line) { options_.fixed_line = line; }

  Plan next(std::span<const Candidate> recent);

  // What came of the last plan.
  void finished(const Plan& plan, const Outcome& outcome);

 private:
  struct Line {
    uint32_t line;
    double credit;      // turns that it should have had, less those that it had
    double share;       // of the next turn
    uint32_t speedups;  // tried so far
  };

  Line& line(uint32_t id);
  uint32_t choose(std::span<const Candidate> recent);
  int next_speedup(Line& line) const;
  int64_t pair_length(std::span<const Candidate> recent) const;

  PlannerOptions options_;
  std::vector<Line> lines_;
  int64_t dur_ns_;            // of the present pair
  int64_t pending_ns_;        // of the next
  uint32_t present_ = 0;      // whose turn it is
  int left_ = 0;              // pairs of its turn
  bool is_baseline_ = false;  // the last plan was one
  int64_t pair_ns_;           // of the present pair, by its line
  bool is_visited_ = false;   // a progress point has been visited in some experiment
};

}  // namespace headway::agent::causal
