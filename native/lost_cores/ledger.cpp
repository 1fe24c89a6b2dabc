#include "lost_cores/ledger.h"

#include <algorithm>
#include <utility>

namespace headway {
namespace {

double sum(const double* values, int count) {
  double total = 0;
  for (int i = 0; i < count; ++i) total += values[i];
  return total;
}

void scale(double* values, int count, double factor) {
  for (int i = 0; i < count; ++i) values[i] *= factor;
}

// What is left of `from` as a factor when `taken` goes off.
double left(double from, double taken) { return from > 0 ? std::max(0.0, from - taken) / from : 1.0; }

}  // namespace

void LossSums::add(const LossSums& sums) {
  for (int i = 0; i < kUsedKinds; ++i) used[i] += sums.used[i];
  stolen += sums.stolen;
  other += sums.other;
  for (int i = 0; i < kCauses; ++i) lost[i] += sums.lost[i];
}

LossLedger::LossLedger(const LossRows* names, double cores, int64_t from_ns, int64_t to_ns, int64_t bin_ns)
    : names_(names), cores_(cores), bin_ns_(std::max<int64_t>(bin_ns, 1)), segment_end_ns_(to_ns) {
  bin_ = to_ns > from_ns ? static_cast<size_t>((to_ns - 1 - from_ns) / bin_ns_) : 0;
  bins_.resize(bin_ + 1);
  bin_start_ns_ = from_ns + static_cast<int64_t>(bin_) * bin_ns_;
}

void LossLedger::charge_causes() {
  for (int waits = 0; waits < kWaits; ++waits) {
    for (int cause = 0; cause < kCauses; ++cause) count(static_cast<Waits>(waits), static_cast<Cause>(cause), 0);
  }
}

void LossLedger::close_cell() {
  charge_causes();
  cells_.push_back({bin_, cell_});
  cell_ = {};
}

void LossLedger::next_bin() {
  close_cell();
  if (bin_ == 0) return;
  --bin_;
  bin_start_ns_ -= bin_ns_;
}

void LossLedger::close_segment(int64_t start_ns) {
  close_cell();
  Segment segment;
  segment.start_ns = start_ns;
  segment.end_ns = segment_end_ns_;
  segment_end_ns_ = start_ns;
  segment.outside_ns = outside_;
  settle(&segment);
  segments_.push_back(std::move(segment));
  std::fill(rows_.begin(), rows_.end(), 0.0);
  cells_.clear();
  excess_ = 0;
  outside_ = 0;
}

// Where threads ran on more cores than the account has (a quota's burst, fewer cores than were recorded), the time
// beyond was borrowed: it is paid back out of what was lost, throttled time first, and only what is left is cut off
// from the used.
void LossLedger::settle(Segment* segment) {
  LossSums& sums = segment->sums;
  for (const Cell& cell : cells_) sums.add(cell.sums);
  const int quota_at = static_cast<int>(Cause::kQuota);
  const double quota = sums.lost[quota_at], lost = sum(sums.lost, kCauses) - quota;
  const double ran = sum(sums.used, kUsedKinds) + sums.stolen;
  const double for_lost = std::max(0.0, excess_ - quota), for_ran = std::max(0.0, for_lost - lost);
  const double quota_left = left(quota, excess_), lost_left = left(lost, for_lost), ran_left = left(ran, for_ran);
  for (Cell& cell : cells_) {
    const double throttled = cell.sums.lost[quota_at] * quota_left;
    scale(cell.sums.lost, kCauses, lost_left);
    cell.sums.lost[quota_at] = throttled;
    scale(cell.sums.used, kUsedKinds, ran_left);
    cell.sums.stolen *= ran_left;
    bins_[cell.bin].add(cell.sums);
  }
  sums = {};
  for (const Cell& cell : cells_) sums.add(cell.sums);
  segment->excess_ns = excess_;
  const auto span = static_cast<double>(segment->end_ns - segment->start_ns);
  segment->error_ns = cores_ * span - sum(sums.used, kUsedKinds) - sums.stolen - sums.other - sum(sums.lost, kCauses);
  take_rows(segment, quota_left, lost_left);
}

void LossLedger::take_rows(Segment* segment, double quota_left, double lost_left) {
  for (uint32_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row] == 0) continue;
    segment->row.push_back(row);
    segment->core_ns.push_back(rows_[row] * ((*names_)[row].cause == Cause::kQuota ? quota_left : lost_left));
  }
}

}  // namespace headway
