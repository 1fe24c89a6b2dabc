#include "agent/causal/experiments/planner.h"

#include <algorithm>
#include <array>

namespace headway::agent::causal {
namespace {

constexpr int64_t kFirstNs = 200'000'000;
constexpr int64_t kLeastNs = 50'000'000;
constexpr int64_t kMostNs = 5'000'000'000;
constexpr int64_t kSleeps = 20;       // in an experiment on a line that sleeps: half of one in it is lost at its end
constexpr uint64_t kFarTooMany = 64;  // times the visits that are enough
constexpr int kPairsInTurn = 4;
constexpr int64_t kGoneNs = 1'000'000'000;  // a line of 1 % is seen ten times in that
constexpr double kStarving = 0.01;          // of all samples: lines with less get no turn
constexpr double kLeastShare = 0.04;        // of the turns, before all shares are made to sum to 1
constexpr int kSpeedups = 20;               // 5, 10 .. 100 %
constexpr std::array<int, 4> kFirstSpeedups = {50, 100, 25, 75};
constexpr uint32_t kFirstTurns = 2;  // how often each of those comes before the others do
constexpr int kStride = 13;          // has no factor in common with kSpeedups, and is near the golden ratio of it

uint64_t scramble(uint64_t value) {  // splitmix64
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ value >> 27) * 0x94D049BB133111EBULL;
  return value ^ value >> 31;
}

}  // namespace

Planner::Planner(const PlannerOptions& options)
    : options_(options),
      dur_ns_(options.fixed_ns > 0 ? options.fixed_ns : kFirstNs),
      pending_ns_(dur_ns_),
      pair_ns_(dur_ns_) {}

Planner::Line& Planner::line(uint32_t id) {
  const auto found = std::ranges::find(lines_, id, &Line::line);
  if (found != lines_.end()) return *found;
  return lines_.emplace_back(Line{id, 0, 0, 0});
}

// Every line earns its share of a turn; who has earned most has the turn, and pays for it.
uint32_t Planner::choose(std::span<const Candidate> recent) {
  if (options_.fixed_line != 0) return options_.fixed_line;
  int64_t total_ns = 0;
  const auto is_idle = [](const Candidate& one) { return one.idle_ns > kGoneNs; };
  for (const Candidate& one : recent) total_ns += is_idle(one) ? 0 : one.weight_ns;
  if (total_ns <= 0) return 0;
  double shares = 0;
  for (Line& one : lines_) one.share = 0;
  for (const Candidate& one : recent) {
    const double share = static_cast<double>(one.weight_ns) / static_cast<double>(total_ns);
    if (is_idle(one) || share < kStarving) continue;
    line(one.line).share = std::max(share, kLeastShare);
    shares += std::max(share, kLeastShare);
  }
  if (shares <= 0) {  // a flat profile: whatever is hottest
    const auto hottest =
        std::ranges::max_element(recent, {}, [&](const Candidate& one) { return is_idle(one) ? 0 : one.weight_ns; });
    line(hottest->line).share = shares = 1;
  }
  Line* best = nullptr;
  for (Line& one : lines_) {
    if (one.share <= 0) continue;  // keeps what it has earned for when it is back
    one.credit += one.share / shares;
    if (best == nullptr || one.credit > best->credit) best = &one;
  }
  if (best == nullptr) return 0;
  best->credit -= 1;
  return best->line;
}

int Planner::next_speedup(Line& line) const {
  const uint64_t offset = scramble(options_.seed ^ scramble(line.line));
  const uint32_t index = line.speedups++;
  // Of a line that was asked for somebody wants to know how much it gives: four points that are worth five times as
  // many experiments say more of that than twenty, and a bend between two of them shows.
  if (options_.fixed_line != 0 || index < kFirstTurns * kFirstSpeedups.size()) {
    return kFirstSpeedups[(index + offset) % kFirstSpeedups.size()];
  }
  const auto place = static_cast<int>((offset + uint64_t{index} * kStride) % kSpeedups);
  return 5 * (place + 1);
}

int64_t Planner::pair_length(std::span<const Candidate> recent) const {
  const auto found = std::ranges::find(recent, present_, &Candidate::line);
  if (options_.fixed_ns > 0 || found == recent.end()) return dur_ns_;
  return std::max(dur_ns_, std::min(kSleeps * found->sleep_ns, kMostNs));
}

Plan Planner::next(std::span<const Candidate> recent) {
  if (is_baseline_) {
    is_baseline_ = false;
    const int speedup = options_.fixed_speedup_pct >= 0 ? options_.fixed_speedup_pct : next_speedup(line(present_));
    return {present_, speedup, pair_ns_, false};
  }
  dur_ns_ = pending_ns_;
  if (left_ == 0 || (options_.fixed_line != 0 && present_ != options_.fixed_line)) {
    present_ = choose(recent);
    left_ = kPairsInTurn;
  }
  pair_ns_ = pair_length(recent);
  if (present_ == 0) {
    left_ = 0;
    return {0, 0, pair_ns_, true};
  }
  --left_;
  is_baseline_ = true;
  return {present_, 0, pair_ns_, true};
}

// Only baselines count, at which the program runs at its own speed; both of a pair have the same length.
void Planner::finished(const Plan& plan, const Outcome& outcome) {
  // As many as there would have been in an experiment of the usual length.
  const uint64_t visits = outcome.visits * static_cast<uint64_t>(dur_ns_) / static_cast<uint64_t>(pair_ns_);
  is_visited_ = is_visited_ || outcome.visits > 0;
  if (plan.line == 0 || !plan.begins_pair) return;
  // The pair is made whole all the same: one that is broken off by what its baseline saw would be a biased choice.
  if (outcome.hits == 0) left_ = 0;
  if (options_.fixed_ns > 0) return;
  const auto enough = static_cast<uint64_t>(options_.min_visits);
  int64_t next_ns = dur_ns_;
  if (visits < enough && is_visited_) next_ns = dur_ns_ * 2;
  if (visits > enough * kFarTooMany) next_ns = dur_ns_ / 2;
  pending_ns_ = std::clamp(next_ns, kLeastNs, kMostNs);
}

}  // namespace headway::agent::causal
