// Periods follow what samples usually cost, not the few that took long because their thread lost its core.
#include "agent/causal/sampling/sample_cost.h"

#include "testing/check.h"

using namespace headway::agent::causal;

namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;

// Of samples that cost 2.4 us or so, but for one in `every`, the first among them, which costs `dear_ns`.
SampleCost after(int samples, int every, int64_t dear_ns) {
  SampleCost cost;
  for (int i = 0; i < samples; ++i) cost.add(i % every == 0 ? dear_ns : 2'400 + i % 7 * 50);
  return cost;
}

int64_t period(const SampleCost& cost) { return period_for(cost, kMillisecond, false); }

void a_first_sample_that_lost_its_core_is_not_believed() {
  SampleCost cost;
  cost.add(4 * kMillisecond);
  CHECK(period(cost) < 2 * kMillisecond);
  CHECK(period(after(64, 64, 4 * kMillisecond)) < 1'700 * kMicrosecond);
}

void few_that_lost_their_core_change_nothing() {
  const SampleCost cost = after(10'000, 100, 4 * kMillisecond);
  CHECK(cost.usual_ns > 2'000 && cost.usual_ns < 3'200);
  CHECK(period(cost) == 70 * (20'000 + cost.usual_ns));
}

void stacks_of_which_some_are_dear_are_read_seldom() {
  int64_t sum_ns = 0;
  for (int samples = 2'000; samples < 2'064; ++samples) sum_ns += period(after(samples, 3, kMillisecond));
  CHECK(sum_ns / 64 > 3'900 * kMicrosecond);
}

void deep_stacks_are_known_after_some_dozens() {
  SampleCost cost{2'000};
  int samples = 0;
  for (; period(cost) < kLongestPeriodNs; ++samples) cost.add(kMillisecond);
  CHECK(samples < 50);
}

void shallow_stacks_again_are_known_too() {
  SampleCost cost{kMillisecond};
  for (int sample = 0; sample < 600; ++sample) cost.add(2'000);
  CHECK(cost.usual_ns < 2'300 && cost.mean_ns < 2'300);
  for (int sample = 0; sample < 100; ++sample) cost.add(0);
  CHECK(cost.usual_ns >= 1);  // 0 is "not known"
}

void periods_grow_with_the_cost_and_faster_beyond_what_warm_caches_take() {
  CHECK(period({2'000}) == 70 * 22'000);
  CHECK(period({6'000}) == 70 * 26'000);
  CHECK(period({10'000}) == 70 * 42'000);
  CHECK(period({kMillisecond}) == kLongestPeriodNs);
}

void what_was_asked_for_is_kept_unless_the_program_would_not_get_on() {
  CHECK(period_for({12'000}, 250'000, true) == 250'000);
  CHECK(period_for({100'000}, 250'000, true) == 600'000);
  CHECK(period_for({100'000}, 10 * kMillisecond, true) == 10 * kMillisecond);
  CHECK(period_for({kMillisecond}, 250'000, true) == kLongestPeriodNs);
}

}  // namespace

int main() {
  a_first_sample_that_lost_its_core_is_not_believed();
  few_that_lost_their_core_change_nothing();
  stacks_of_which_some_are_dear_are_read_seldom();
  deep_stacks_are_known_after_some_dozens();
  shallow_stacks_again_are_known_too();
  periods_grow_with_the_cost_and_faster_beyond_what_warm_caches_take();
  what_was_asked_for_is_kept_unless_the_program_would_not_get_on();
}
