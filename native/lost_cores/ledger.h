// The sums of lost and used core-time: per row, per cause and time bin, and per segment of the window.
//
// Waiters are paid by an integral: what one waiter of a class is owed from a to b is x(b) - x(a), so that a change
// costs the same however many wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lost_cores/loss_rows.h"

namespace headway {

constexpr int kUsedKinds = 5;  // app, gc, jit, vm, headway

// Who waits: would run if what it waits for came; for work from outside; sleeps or reads in the background; for a task,
// or looks after others.
enum class Waits : uint8_t { kDirected, kOutside, kBackground, kIdle };
constexpr int kWaits = 4;

struct LossSums {
  double used[kUsedKinds] = {};
  double stolen = 0;
  double other = 0;
  double lost[kCauses] = {};

  void add(const LossSums& sums);
};

struct Segment {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  LossSums sums;
  double excess_ns = 0;       // threads ran on more cores than the account has; made up for, see settle()
  double error_ns = 0;        // cores x time less all sums: what is left over
  double outside_ns = 0;      // time in which the program waited for work from outside
  std::vector<uint32_t> row;  // of LossRows
  std::vector<double> core_ns;
};

// Core-ns per ns at present.
struct Rates {
  double used[kUsedKinds] = {};
  double stolen = 0;
  double other = 0;
  double excess = 0;
  double per_waiter[kWaits] = {};
  double outside = 0;  // 1: all of the program waits for work from outside
};

// The sums while the pass goes on.
class LossLedger {
 public:
  LossLedger(const LossRows* names, double cores, int64_t from_ns, int64_t to_ns, int64_t bin_ns);

  double owed(Waits waits) const { return owed_[static_cast<int>(waits)]; }
  void count(Waits waits, Cause cause, int change);
  void charge(uint32_t row, double core_ns) {
    if (row >= rows_.size()) rows_.resize(row + 1);
    rows_[row] += core_ns;
  }
  // Time `dur` passes at these rates.
  void pass(const Rates& rates, double dur);
  // `core_ns` to a row outside of the integrals.
  void charge_now(uint32_t row, Cause cause, double core_ns) {
    charge(row, core_ns);
    cell_.lost[static_cast<int>(cause)] += core_ns;
  }

  int64_t bin_start_ns() const { return bin_start_ns_; }
  void next_bin();
  // A segment ends (going backwards, begins) here; all waiters have been charged.
  void close_segment(int64_t start_ns);

  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<LossSums>& bins() const { return bins_; }

 private:
  struct Counted {
    int64_t waiters = 0;
    double owed = 0;  // up to here its cause has been charged
  };
  struct Cell {
    size_t bin;
    LossSums sums;
  };
  void charge_causes();
  void close_cell();
  void settle(Segment* segment);
  void take_rows(Segment* segment, double quota_left, double lost_left);

  const LossRows* names_;
  double cores_;
  int64_t bin_ns_;
  int64_t segment_end_ns_;
  int64_t bin_start_ns_ = 0;
  size_t bin_ = 0;
  double owed_[kWaits] = {};
  Counted counted_[kWaits][kCauses];
  double excess_ = 0;
  double outside_ = 0;
  LossSums cell_;
  std::vector<Cell> cells_;  // of the segment
  std::vector<double> rows_;
  std::vector<LossSums> bins_;
  std::vector<Segment> segments_;  // the last one first
};

// At every change of a thread:

inline void LossLedger::count(Waits waits, Cause cause, int change) {
  const double now = owed(waits);
  Counted& counted = counted_[static_cast<int>(waits)][static_cast<int>(cause)];
  cell_.lost[static_cast<int>(cause)] += static_cast<double>(counted.waiters) * (now - counted.owed);
  counted.owed = now;
  counted.waiters += change;
}

inline void LossLedger::pass(const Rates& rates, double dur) {
  for (int i = 0; i < kUsedKinds; ++i) cell_.used[i] += rates.used[i] * dur;
  cell_.stolen += rates.stolen * dur;
  cell_.other += rates.other * dur;
  excess_ += rates.excess * dur;
  outside_ += rates.outside * dur;
  for (int i = 0; i < kWaits; ++i) owed_[i] += rates.per_waiter[i] * dur;
}

}  // namespace headway
