#include "decode/parallelism/parallelism_integrator.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace headway {
namespace {

constexpr uint64_t kSegments = 1 << 14;  // a power of two

size_t hash(const Levels& levels) {
  uint64_t h = 0x9e3779b97f4a7c15ULL;
  for (int kind = 0; kind < kKinds; ++kind) {
    h ^= (static_cast<uint64_t>(levels.active[kind]) << 32) | levels.running[kind];
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  }
  return static_cast<size_t>(h);
}

// Where the bin that holds ts_ns begins.
int64_t bin_of(int64_t ts_ns, const ParallelismOptions& options) {
  return ts_ns - (ts_ns - options.bin_origin_ns) % options.bin_ns;
}

}  // namespace

ParallelismIntegrator::ParallelismIntegrator(const ParallelismOptions& options, std::vector<uint8_t> kinds,
                                             const std::vector<KindSpan>& spans)
    : options_(options),
      kinds_(std::move(kinds)),
      own_kinds_(kinds_),
      threads_(kinds_.size()),
      now_ns_(options.start_ns),
      segments_(kSegments) {
  options_.bin_ns = std::max<int64_t>(options_.bin_ns, 1);
  options_.bin_origin_ns = std::min(options_.bin_origin_ns, options_.start_ns);
  index_.resize(256);
  enter_bin(now_ns_);
  for (const KindSpan& span : spans) {
    if (span.start_ns >= span.end_ns) continue;
    kind_changes_.push_back({span.start_ns, span.thread, true, span.kind});
    kind_changes_.push_back({span.end_ns, span.thread, false, 0});
  }
  // Where one span ends as the next begins, it ends first.
  std::sort(kind_changes_.begin(), kind_changes_.end(), [](const KindChange& a, const KindChange& b) {
    return std::tie(a.ts_ns, a.begins, a.thread) < std::tie(b.ts_ns, b.begins, b.thread);
  });
}

void ParallelismIntegrator::change(int64_t ts_ns, uint32_t thread, Level to, int64_t stolen_ns) {
  if (thread >= kinds_.size()) {
    kinds_.resize(thread + 1, 0);
    own_kinds_.resize(thread + 1, 0);
    threads_.resize(thread + 1);
  }
  if (kinds_[thread] == kNotCounted) return;
  advance(std::min(ts_ns, options_.end_ns));
  const uint8_t kind = kinds_[thread];  // as of now
  ThreadParallelism& t = threads_[thread];
  if (t.level == to) return;
  settle_kind(thread, &t);
  ++changes_;
  is_dirty_ = true;
  if (t.level == Level::kRunning) {
    t.active_while_running += integral_ - t.integral_before;
    if (stolen_ns > 0) attribute(thread, t, stolen_ns);
    if (!folded_.empty()) folded_.erase(thread);
    running_[t.place_in_running] = running_.back();
    threads_[running_.back()].place_in_running = t.place_in_running;
    running_.pop_back();
    --now_levels_.running[kind];
  } else if (to == Level::kRunning) {
    t.integral_before = integral_;
    t.running_since_ns = now_ns_;
    t.first_segment = next_segment_;
    t.place_in_running = static_cast<uint32_t>(running_.size());
    running_.push_back(thread);
    ++now_levels_.running[kind];
  }
  if (t.level == Level::kIdle) {
    t.height_before = height_;
    t.active_since_ns = now_ns_;
    ++now_levels_.active[kind];
    ++active_;
  } else if (to == Level::kIdle) {
    t.height_ns += height_ - t.height_before;
    t.active_ns += now_ns_ - t.active_since_ns;
    --now_levels_.active[kind];
    --active_;
  }
  t.level = to;
}

void ParallelismIntegrator::finish(size_t max_rows) {
  advance(options_.end_ns);
  for (uint32_t thread = 0; thread < threads_.size(); ++thread) change(options_.end_ns, thread, Level::kIdle);
  const size_t limit = max_rows != 0 ? std::min(max_rows, options_.max_rows) : options_.max_rows;
  while (rows_.size() > limit && options_.bin_ns < options_.end_ns - options_.bin_origin_ns) widen_bins();
}

void ParallelismIntegrator::advance(int64_t ts_ns) {
  while (next_kind_change_ < kind_changes_.size() && kind_changes_[next_kind_change_].ts_ns <= ts_ns) {
    const KindChange& change = kind_changes_[next_kind_change_++];
    advance_levels(change.ts_ns);
    if (change.thread < kinds_.size()) {
      change_kind(change.thread, change.begins ? change.kind : own_kinds_[change.thread]);
    }
  }
  advance_levels(ts_ns);
}

void ParallelismIntegrator::change_kind(uint32_t thread, uint8_t kind) {
  if (kinds_[thread] == kNotCounted) return;
  ThreadParallelism& t = threads_[thread];
  settle_kind(thread, &t);
  if (t.level != Level::kIdle) {
    is_dirty_ = true;
    --now_levels_.active[kinds_[thread]];
    ++now_levels_.active[kind];
  }
  if (t.level == Level::kRunning) {
    --now_levels_.running[kinds_[thread]];
    ++now_levels_.running[kind];
  }
  kinds_[thread] = kind;
}

// Sums up what a thread did as another kind than its own, before its level or its kind changes.
void ParallelismIntegrator::settle_kind(uint32_t thread, ThreadParallelism* t) {
  if (kinds_[thread] != own_kinds_[thread]) {
    const int64_t passed = now_ns_ - t->kind_since_ns;
    if (t->level == Level::kRunning) t->other_kind_running_ns += passed;
    if (t->level != Level::kIdle) t->other_kind_active_ns += passed;
  }
  t->kind_since_ns = now_ns_;
}

void ParallelismIntegrator::advance_levels(int64_t ts_ns) {
  while (now_ns_ < ts_ns) {
    if (now_ns_ >= bin_end_ns_) enter_bin(now_ns_);
    if (is_dirty_) row_ = find_row();
    const int64_t until = std::min(ts_ns, bin_end_ns_);
    const int64_t dur = until - now_ns_;
    rows_[row_].dur_ns += dur;
    if (active_ != 0) {
      integral_ += active_ * dur;
      height_ += static_cast<double>(dur) / static_cast<double>(active_);
      if (!running_.empty()) push_segment(row_, dur);
    }
    now_ns_ = until;
  }
}

void ParallelismIntegrator::enter_bin(int64_t ts_ns) {
  while (rows_.size() > options_.max_rows && options_.bin_ns < options_.end_ns - options_.bin_origin_ns) widen_bins();
  bin_start_ns_ = bin_of(ts_ns, options_);
  bin_end_ns_ = bin_start_ns_ + options_.bin_ns;
  bin_first_row_ = rows_.size();
  // After widening, the last rows may belong to the bin that goes on.
  const int64_t begins = std::max(bin_start_ns_, options_.start_ns);
  while (bin_first_row_ > 0 && rows_[bin_first_row_ - 1].bin_start_ns == begins) --bin_first_row_;
  std::fill(index_.begin(), index_.end(), 0U);
  for (size_t row = bin_first_row_; row < rows_.size(); ++row) {
    size_t slot = hash(rows_[row].levels) & (index_.size() - 1);
    while (index_[slot] != 0) slot = (slot + 1) & (index_.size() - 1);
    index_[slot] = static_cast<uint32_t>(row + 1);
  }
  is_dirty_ = true;
}

uint32_t ParallelismIntegrator::find_row() {
  is_dirty_ = false;
  if ((rows_.size() - bin_first_row_ + 1) * 2 > index_.size()) grow_index();
  size_t slot = hash(now_levels_) & (index_.size() - 1);
  while (index_[slot] != 0) {
    if (rows_[index_[slot] - 1].levels == now_levels_) return index_[slot] - 1;
    slot = (slot + 1) & (index_.size() - 1);
  }
  rows_.push_back({std::max(bin_start_ns_, options_.start_ns), 0, 0, now_levels_});
  index_[slot] = static_cast<uint32_t>(rows_.size());
  return index_[slot] - 1;
}

void ParallelismIntegrator::grow_index() {
  index_.assign(index_.size() * 2, 0U);
  for (size_t row = bin_first_row_; row < rows_.size(); ++row) {
    size_t slot = hash(rows_[row].levels) & (index_.size() - 1);
    while (index_[slot] != 0) slot = (slot + 1) & (index_.size() - 1);
    index_[slot] = static_cast<uint32_t>(row + 1);
  }
}

void ParallelismIntegrator::push_segment(uint32_t row, int64_t dur_ns) {
  segments_[next_segment_ & (kSegments - 1)] = {row, dur_ns};
  ++next_segment_;
  if ((next_segment_ & (kSegments / 2 - 1)) == 0) fold_segments();
}

// Called every half ring: whoever began to run before the older half is summed up by row, so that the ring may go on.
void ParallelismIntegrator::fold_segments() {
  for (const uint32_t thread : running_) {
    ThreadParallelism& t = threads_[thread];
    if (next_segment_ - t.first_segment < kSegments / 2) continue;
    auto& by_row = folded_[thread];
    for (uint64_t i = t.first_segment; i < next_segment_; ++i) {
      const Segment& segment = segments_[i & (kSegments - 1)];
      by_row[segment.row] += segment.dur_ns;
    }
    t.first_segment = next_segment_;
  }
}

// Spreads stolen time evenly over the time the thread ran. Rounded so that the shares add up to it.
void ParallelismIntegrator::attribute(uint32_t thread, const ThreadParallelism& t, int64_t stolen_ns) {
  const int64_t ran = now_ns_ - t.running_since_ns;
  if (ran <= 0) return;
  int64_t passed = 0, given = 0;
  const auto give = [&](uint32_t row, int64_t dur_ns) {
    passed += dur_ns;
    const auto due = static_cast<int64_t>(static_cast<__int128>(stolen_ns) * passed / ran);
    rows_[row].stolen_ns += due - given;
    given = due;
  };
  if (const auto found = folded_.find(thread); found != folded_.end()) {
    for (const auto& [row, dur_ns] : found->second) give(row, dur_ns);
  }
  for (uint64_t i = t.first_segment; i < next_segment_; ++i) {
    const Segment& segment = segments_[i & (kSegments - 1)];
    give(segment.row, segment.dur_ns);
  }
}

// Makes bins twice as wide and joins the rows that then are alike.
void ParallelismIntegrator::widen_bins() {
  options_.bin_ns *= 2;
  std::vector<ActivityRow> joined;
  std::vector<uint32_t> moved(rows_.size());
  std::unordered_map<size_t, std::vector<uint32_t>> of_bin;
  int64_t bin = INT64_MIN;
  for (size_t i = 0; i < rows_.size(); ++i) {
    ActivityRow row = rows_[i];
    row.bin_start_ns = std::max(bin_of(row.bin_start_ns, options_), options_.start_ns);
    if (row.bin_start_ns != bin) of_bin.clear();
    bin = row.bin_start_ns;
    std::vector<uint32_t>& alike = of_bin[hash(row.levels)];
    const auto same =
        std::find_if(alike.begin(), alike.end(), [&](uint32_t j) { return joined[j].levels == row.levels; });
    if (same != alike.end()) {
      joined[*same].dur_ns += row.dur_ns;
      joined[*same].stolen_ns += row.stolen_ns;
      moved[i] = *same;
    } else {
      moved[i] = static_cast<uint32_t>(joined.size());
      alike.push_back(moved[i]);
      joined.push_back(row);
    }
  }
  rows_ = std::move(joined);
  const uint64_t kept = std::min(next_segment_, kSegments);
  for (uint64_t i = next_segment_ - kept; i < next_segment_; ++i) {
    Segment& segment = segments_[i & (kSegments - 1)];
    segment.row = moved[segment.row];
  }
  for (auto& [thread, by_row] : folded_) {
    std::unordered_map<uint32_t, int64_t> again;
    for (const auto& [row, dur_ns] : by_row) again[moved[row]] += dur_ns;
    by_row = std::move(again);
  }
  is_dirty_ = true;
}

}  // namespace headway
