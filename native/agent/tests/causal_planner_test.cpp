// The plan of experiments: turns of lines and of speedups, lengths of experiments, and seeds.
#include "agent/causal/experiments/controls.h"
#include "agent/causal/experiments/planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "testing/check.h"

using namespace headway::agent::causal;

namespace {

constexpr Outcome kEnough = {.visits = 100, .hits = 10};

// `count` plans, each of them successful.
std::vector<Plan> plans(Planner& planner, const std::vector<Candidate>& recent, int count) {
  std::vector<Plan> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(planner.next(recent));
    planner.finished(all.back(), kEnough);
  }
  return all;
}

void baselines_alternate_with_speedups_of_the_same_line_and_length() {
  Planner planner({.seed = 7});
  const auto all = plans(planner, {{5, 700}, {6, 300}}, 400);
  for (size_t i = 0; i < all.size(); i += 2) {
    CHECK(all[i].begins_pair && !all[i + 1].begins_pair);
    CHECK_EQUAL(all[i].speedup_pct, 0);
    CHECK(all[i + 1].speedup_pct >= 5 && all[i + 1].speedup_pct <= 100 && all[i + 1].speedup_pct % 5 == 0);
    CHECK_EQUAL(all[i].line, all[i + 1].line);
    CHECK_EQUAL(all[i].dur_ns, all[i + 1].dur_ns);
  }
}

void an_experiment_on_a_line_that_sleeps_lasts_for_many_sleeps_and_makes_those_of_others_no_longer() {
  constexpr int64_t kMillisecond = 1'000'000;
  Planner planner({.seed = 7});
  const std::vector<Candidate> recent = {{5, 500, 0, 30 * kMillisecond}, {6, 500}, {7, 500, 0, 900 * kMillisecond}};
  for (int i = 0; i < 400; ++i) {
    const Plan plan = planner.next(recent);
    CHECK_EQUAL(plan.dur_ns, (plan.line == 5 ? 600 : plan.line == 6 ? 200 : 5000) * kMillisecond);
    planner.finished(plan, {.visits = static_cast<uint64_t>(plan.dur_ns / (2 * kMillisecond)), .hits = 1});
  }
}

void turns_go_in_proportion_to_time_and_none_of_one_percent_starves() {
  Planner planner({.seed = 7});
  std::map<uint32_t, int> turns;
  const std::vector<Candidate> recent = {{5, 600}, {6, 300}, {7, 80}, {8, 20}, {9, 1}};
  for (const Plan& plan : plans(planner, recent, 8 * 1000)) ++turns[plan.line];
  CHECK(turns[5] > turns[6] * 19 / 10 && turns[5] < turns[6] * 21 / 10);
  CHECK(turns[8] >= 8 * 1000 / 40);
  CHECK_EQUAL(turns[9], 0);  // a thousandth
}

// A start-up of many hot lines, then the program proper: the moment that lines have not been seen for a second they are
// drawn no more, whatever they weigh.
void lines_that_run_no_longer_have_no_turn() {
  constexpr int64_t kSecond = 1'000'000'000;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Planner planner({.seed = seed});
    std::vector<Candidate> recent;
    for (uint32_t line = 2; line < 22; ++line) recent.push_back({line, 500'000'000, 0});
    plans(planner, recent, 40);
    for (Candidate& one : recent) one.idle_ns = kSecond + 1 + static_cast<int64_t>(seed);
    for (uint32_t line = 100; line < 103; ++line) recent.push_back({line, 1'000'000, 0});
    std::map<uint32_t, int> turns;
    const auto all = plans(planner, recent, 8 * 30);
    // The turn of the line that runs out is that of its baseline only, if no sample is in it: here each has some.
    for (size_t i = 8; i < all.size(); ++i) ++turns[all[i].line];
    CHECK_EQUAL(turns.size(), 3U);
    CHECK(turns.begin()->first >= 100);
    for (const auto& [line, count] : turns) CHECK(count >= 8 * 8);
    // It is back: so is its turn.
    recent[0].idle_ns = 0;
    bool is_back = false;
    for (const Plan& plan : plans(planner, recent, 16)) is_back = is_back || plan.line == recent[0].line;
    CHECK(is_back);
    for (Candidate& one : recent) one.idle_ns = 2 * kSecond;
    for (size_t i = 0; i < 8; ++i) planner.finished(planner.next(recent), {});
    CHECK_EQUAL(planner.next(recent).line, 0U);
  }
}

void every_line_of_one_percent_has_its_turn_soon() {
  Planner planner({.seed = 3});
  std::vector<Candidate> recent = {{1000, 100'000}};
  for (uint32_t line = 2; line < 42; ++line) recent.push_back({line, 2'000});
  std::set<uint32_t> seen;
  for (const Plan& plan : plans(planner, recent, 8 * 100)) seen.insert(plan.line);
  CHECK_EQUAL(seen.size(), recent.size());
}

void first_speedups_are_few_then_each_comes_equally_often() {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Planner planner({.seed = seed});
    std::vector<int> speedups;
    for (const Plan& plan : plans(planner, {{5, 1}}, 2 * 88)) {
      if (!plan.begins_pair) speedups.push_back(plan.speedup_pct);
    }
    CHECK_EQUAL(std::set<int>(speedups.begin(), speedups.begin() + 8).size(), 4U);
    std::map<int, int> later;
    for (size_t i = 8; i < speedups.size(); ++i) ++later[speedups[i]];
    CHECK_EQUAL(later.size(), 20U);
    for (const auto& [speedup, times] : later) CHECK_EQUAL(times, 4);
  }
}

void a_seed_gives_the_same_plans_and_another_seed_others() {
  const std::vector<Candidate> recent = {{5, 2}, {6, 1}};
  const auto speedups = [&](uint64_t seed) {
    Planner planner({.seed = seed});
    std::vector<int> all;
    for (const Plan& plan : plans(planner, recent, 60)) all.push_back(plan.speedup_pct);
    return all;
  };
  CHECK(speedups(1) == speedups(1));
  CHECK(speedups(1) != speedups(2) || speedups(1) != speedups(3));
}

int64_t length_after(int pairs, uint64_t visits_per_s) {
  Planner planner({.seed = 1});
  uint64_t ns = 0;
  uint64_t visits = 0;
  for (int i = 0; i < 2 * pairs; ++i) {
    const Plan plan = planner.next(std::vector<Candidate>{{5, 1}});
    ns += static_cast<uint64_t>(plan.dur_ns);
    const uint64_t before = std::exchange(visits, ns / 1'000'000 * visits_per_s / 1000);
    planner.finished(plan, {.visits = visits - before, .hits = 1});
  }
  return planner.next(std::vector<Candidate>{{5, 1}}).dur_ns;
}

void experiments_last_until_there_are_visits_enough() {
  CHECK(length_after(10, 50) * 50 / 1'000'000'000 >= 20);
  CHECK_EQUAL(length_after(10, 1), 5'000'000'000);
  CHECK_EQUAL(length_after(20, 10'000'000), 50'000'000);
  CHECK_EQUAL(length_after(10, 1000), 200'000'000);
}

void experiments_do_not_get_longer_before_the_first_visit_of_all() {
  CHECK_EQUAL(length_after(50, 0), 200'000'000);
  Planner planner({.seed = 1});
  const std::vector<Candidate> recent = {{5, 1}};
  for (int i = 0; i < 8; ++i) planner.finished(planner.next(recent), {.visits = 0, .hits = 1});
  planner.finished(planner.next(recent), {.visits = 1, .hits = 1});
  planner.finished(planner.next(recent), {.visits = 0, .hits = 1});
  CHECK_EQUAL(planner.next(recent).dur_ns, 400'000'000);
}

// The longest row of plans for line 5, of which `hits` are seen.
int longest_stay(uint64_t hits) {
  Planner planner({.seed = 1});
  const std::vector<Candidate> recent = {{5, 500}, {6, 500}};
  int longest = 0;
  int stay = 0;
  for (int i = 0; i < 400; ++i) {
    const Plan plan = planner.next(recent);
    stay = plan.line == 5 ? stay + 1 : 0;
    longest = std::max(longest, stay);
    planner.finished(plan, {.visits = 100, .hits = plan.line == 5 ? hits : 10});
  }
  return longest;
}

void a_line_that_runs_no_longer_loses_its_turn_after_a_pair() {
  CHECK_EQUAL(longest_stay(0), 2);
  CHECK_EQUAL(longest_stay(1), 8);
}

void what_is_fixed_stays_so() {
  Planner planner({.fixed_ns = 7, .fixed_line = 4, .fixed_speedup_pct = 0});
  for (const Plan& plan : plans(planner, {{5, 1}}, 20)) {
    CHECK_EQUAL(plan.line, 4U);
    CHECK_EQUAL(plan.speedup_pct, 0);
    CHECK_EQUAL(plan.dur_ns, 7);
  }
}

void a_target_that_was_named_has_four_speedups_alike_however_long_that_lasts() {
  Planner planner({.fixed_line = 4});
  std::map<int, int> times;
  for (const Plan& plan : plans(planner, {}, 2 * 4 * 1000)) {
    if (!plan.begins_pair) ++times[plan.speedup_pct];
  }
  CHECK_EQUAL(times.size(), 4U);
  for (const int speedup : {25, 50, 75, 100}) CHECK_EQUAL(times[speedup], 1000);
}

void without_samples_there_is_no_line_and_later_there_is() {
  Planner planner({.seed = 1});
  CHECK_EQUAL(planner.next({}).line, 0U);
  CHECK_EQUAL(planner.next(std::vector<Candidate>{{5, 0}}).line, 0U);
  CHECK_EQUAL(planner.next(std::vector<Candidate>{{5, 1}}).line, 5U);
}

void a_flat_profile_still_gets_experiments() {
  Planner planner({.seed = 1});
  std::vector<Candidate> recent;
  for (uint32_t line = 2; line < 402; ++line) recent.push_back({line, 10});
  CHECK(planner.next(recent).line != 0);
}

// Else what the program does from time to time would fall in step, or a short recording would have one kind only.
void controls_come_by_chance_but_once_in_two_pairs_and_each_kind_once_in_four() {
  std::vector<unsigned> order[2];
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Controls controls(seed);
    for (int block = 0; block < 100; ++block) {
      unsigned kinds[Controls::kKinds] = {};
      for (unsigned half = 0; half < Controls::kKinds; ++half) {
        unsigned found = 0;
        for (unsigned pair = 0; pair < Controls::kPairs; ++pair) {
          const bool is_next = controls.is_next();
          order[seed - 1].push_back(is_next ? 1 + controls.kind() : 0);
          found += is_next ? 1 : 0;
          if (is_next) ++kinds[controls.kind()];
        }
        CHECK_EQUAL(found, 1U);
      }
      for (const unsigned count : kinds) CHECK_EQUAL(count, 1U);
    }
  }
  CHECK(order[0] != order[1]);
}

}  // namespace

int main() {
  controls_come_by_chance_but_once_in_two_pairs_and_each_kind_once_in_four();
  baselines_alternate_with_speedups_of_the_same_line_and_length();
  an_experiment_on_a_line_that_sleeps_lasts_for_many_sleeps_and_makes_those_of_others_no_longer();
  turns_go_in_proportion_to_time_and_none_of_one_percent_starves();
  lines_that_run_no_longer_have_no_turn();
  every_line_of_one_percent_has_its_turn_soon();
  first_speedups_are_few_then_each_comes_equally_often();
  a_seed_gives_the_same_plans_and_another_seed_others();
  experiments_last_until_there_are_visits_enough();
  experiments_do_not_get_longer_before_the_first_visit_of_all();
  a_line_that_runs_no_longer_loses_its_turn_after_a_pair();
  what_is_fixed_stays_so();
  a_target_that_was_named_has_four_speedups_alike_however_long_that_lasts();
  without_samples_there_is_no_line_and_later_there_is();
  a_flat_profile_still_gets_experiments();
}
