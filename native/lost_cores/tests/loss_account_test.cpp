// The account of lost cores on small cases with known answers, and on random input for the sanitizers: whatever comes
// in, everything sums to cores x time. tests/property/test_account.py compares it with counting instant by instant.
#include "lost_cores/loss_account.h"

#include <cmath>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "testing/check.h"

namespace headway {
namespace {

struct Slices {
  std::vector<int64_t> end, running, runnable, blocked, stolen;
  std::vector<int32_t> thread, waker;
  std::vector<uint8_t> flags, blocked_in;

  void add(int32_t who, int64_t ends, int64_t runs, int64_t ready, int64_t blocks, int32_t woken_by = -1,
           uint8_t in = 0, int64_t robbed = 0) {
    thread.push_back(who);
    end.push_back(ends);
    running.push_back(runs);
    runnable.push_back(ready);
    blocked.push_back(blocks);
    waker.push_back(woken_by);
    blocked_in.push_back(in);
    stolen.push_back(robbed);
    flags.push_back(0);
  }
  SliceColumns columns() const {
    return {{end.size(), end.data(), running.data(), runnable.data(), blocked.data(), stolen.data(), thread.data(),
             waker.data(), flags.data(), blocked_in.data()},
            1};
  }
};

struct Waiting {
  std::vector<int32_t> thread, key, target;
  std::vector<int64_t> start, end;
  std::vector<uint8_t> cause, is_directed;

  void add(int32_t who, int64_t from, int64_t to, Cause why, int32_t what, int32_t whom, bool directed) {
    thread.push_back(who);
    start.push_back(from);
    end.push_back(to);
    cause.push_back(static_cast<uint8_t>(why));
    key.push_back(what);
    target.push_back(whom);
    is_directed.push_back(directed ? 1 : 0);
  }
  WaitColumns columns() const {
    return {thread.size(), thread.data(), start.data(),  end.data(),
            cause.data(),  key.data(),    target.data(), is_directed.data()};
  }
};

using Found = std::map<std::tuple<Cause, int32_t, int32_t>, int64_t>;

Found losses(const LossAccount& account, size_t segment = 0) {
  Found found;
  const Segment& of = account.segments()[account.segments().size() - 1 - segment];
  for (size_t i = 0; i < of.row.size(); ++i) {
    const LossRow& row = account.rows()[of.row[i]];
    const auto core_ns = static_cast<int64_t>(std::llround(of.core_ns[i]));
    if (core_ns != 0) found[{row.cause, row.key, row.thread}] = core_ns;
  }
  return found;
}

// Thread 0 holds lock 7 from 0 to 60; threads 1 and 2 wait for it. Four cores, one of which nobody could use.
void waiters_for_a_lock_take_a_core_each_and_the_rest_is_the_only_active_thread() {
  Slices slices;
  slices.add(0, 60, 60, 0, 0);
  slices.add(1, 100, 40, 0, 60, 0);
  slices.add(2, 100, 40, 0, 60, 0);
  Waiting waits;
  waits.add(1, 0, 60, Cause::kLock, 7, 0, true);
  waits.add(2, 0, 60, Cause::kLock, 7, 0, true);
  const std::vector<int64_t> at{10, 80};
  const std::vector<int32_t> who{0, 1};
  LossAccount account({0, 100, 4, 10, {60}}, {{0, 0, 0}, {}}, waits.columns(), {}, {}, {2, at.data(), who.data()});
  account.batch(slices.columns());
  account.finish();
  CHECK((losses(account, 0) == Found{{{Cause::kLock, 7, 0}, 120}, {{Cause::kSerial, -1, 0}, 60}}));
  CHECK((losses(account, 1) == Found{{{Cause::kFew, -1, -1}, 80}}));
  CHECK_EQUAL(account.probes()[0].directed, 2.0);
  CHECK_EQUAL(account.probes()[0].undirected, 1.0);
  CHECK_EQUAL(account.probes()[1].undirected, 1.0);
}

// Thread 0 joins thread 1, which sleeps, then runs.
void who_joins_a_thread_waits_for_what_that_thread_waits_for() {
  Slices slices;
  slices.add(1, 100, 40, 0, 60, -1, 3);
  slices.add(0, 101, 1, 0, 100, 1);
  Waiting waits;
  waits.add(0, 0, 100, Cause::kImbalance, 3, 1, false);
  LossAccount account({0, 100, 2, 100, {60}}, {{0, 0}, {}}, waits.columns(), {}, {}, {});
  account.batch(slices.columns());
  account.finish();
  CHECK((losses(account, 0) == Found{{{Cause::kSleep, -1, 1}, 120}}));
  CHECK((losses(account, 1) == Found{{{Cause::kImbalance, 3, 1}, 40}}));
}

// One core by quota, two threads on two CPUs for half of the time: nothing was lost.
void what_a_quota_lends_is_paid_back_by_throttled_time() {
  Slices slices;
  slices.add(0, 50, 50, 0, 0, -1, 0, 10);
  slices.add(1, 50, 50, 0, 0);
  slices.add(0, 120, 1, 69, 0);
  slices.add(1, 120, 1, 69, 0);
  const int64_t start = 50, end = 100;
  const uint8_t code = static_cast<uint8_t>(SpanCode::kThrottled);
  const double weight = 1;
  LossAccount account({0, 100, 1, 10, {}}, {{0, 0}, {}}, {}, {1, &start, &end, &code, &weight}, {}, {});
  account.batch(slices.columns());
  account.finish();
  CHECK(losses(account).empty());
  CHECK_EQUAL(std::llround(account.segments()[0].sums.used[0]), 90);
  CHECK_EQUAL(std::llround(account.segments()[0].sums.stolen), 10);
  CHECK_EQUAL(std::llround(account.segments()[0].excess_ns), 50);
}

// Thread 1 is ready for 30, thread 2 (a compiler) for 60: only the first one's delay is the program's.
void only_the_applications_ready_threads_are_delayed_by_the_scheduler() {
  Slices slices;
  slices.add(0, 100, 100, 0, 0);
  slices.add(2, 101, 1, 60, 40);
  slices.add(1, 101, 1, 30, 70, 0);
  LossAccount account({0, 100, 4, 100, {}}, {{kAppKind, kAppKind, kJitKind}, {}}, {}, {}, {}, {});
  account.batch(slices.columns());
  account.finish();
  const Found found = losses(account);
  CHECK_EQUAL(found.at({Cause::kScheduler, -1, -1}), 30);
  // Alone with a compiler that is ready, an application that waits for work from outside is idle.
  Slices quiet;
  quiet.add(1, 101, 1, 100, 0);
  quiet.add(0, 101, 1, 0, 100, -1);
  Waiting waits;
  waits.add(0, 0, 100, Cause::kIdle, -1, -1, false);
  LossAccount idle({0, 100, 2, 100, {}}, {{kAppKind, kJitKind}, {}}, waits.columns(), {}, {}, {});
  idle.batch(quiet.columns());
  idle.finish();
  CHECK((losses(idle) == Found{{{Cause::kIdle, -1, -1}, 200}}));
  CHECK_EQUAL(std::llround(idle.segments()[0].outside_ns), 100);
}

void others_and_the_recorder_take_what_the_program_leaves() {
  Slices slices;
  slices.add(0, 100, 100, 0, 0);
  const int64_t start = 0, end = 100, other = 50, headway = 20;
  LossAccount account({0, 100, 2, 10, {}}, {{0}, {}}, {}, {}, {1, &start, &end, &other, &headway}, {});
  account.batch(slices.columns());
  account.finish();
  const LossSums& sums = account.segments()[0].sums;
  CHECK_EQUAL(std::llround(sums.other), 30);
  CHECK_EQUAL(std::llround(sums.used[kHeadwayKind]), 20);
  CHECK((losses(account) == Found{{{Cause::kSerial, -1, 0}, 50}}));
}

// Main works alone; a logger waits for what main puts into its queue, a watcher joins main, a third awaits a signal.
// A fourth, virtual, reads from an idle connection. All of them only wait: main's is a serial section.
void who_waits_in_the_background_is_no_reason_for_an_idle_core() {
  Slices slices;
  slices.add(0, 100, 100, 0, 0);
  for (int32_t who = 1; who < 4; ++who) slices.add(who, 101, 1, 0, 101, 0, 1);
  Waiting waits;
  waits.add(1, 0, 100, Cause::kStarved, 5, 0, false);
  waits.add(2, 0, 100, Cause::kImbalance, 6, 0, false);
  waits.add(3, 0, 100, Cause::kCondition, 7, 0, true);
  waits.add(4, 0, 100, Cause::kIo, -1, -1, true);
  LossAccount account({0, 100, 2, 100, {}}, {{0, 0, 0, 0}, {0, 1, 2, 1, 1}}, waits.columns(), {}, {}, {});
  account.batch(slices.columns());
  account.finish();
  CHECK((losses(account) == Found{{{Cause::kSerial, -1, 0}, 100}}));
}

// The same watcher where nobody has anything to do: who started it sleeps. A main that joins a worker is none.
void a_watcher_is_asked_only_where_nobody_works() {
  Slices slices;
  slices.add(0, 100, 40, 0, 60, -1, 3);
  slices.add(1, 101, 1, 0, 101, 0, 1);
  Waiting waits;
  waits.add(1, 0, 100, Cause::kImbalance, 6, 0, false);
  for (const uint8_t background : {uint8_t{1}, uint8_t{2}}) {
    LossAccount account({0, 100, 2, 100, {60}}, {{0, 0}, {1, background}}, waits.columns(), {}, {}, {});
    account.batch(slices.columns());
    account.finish();
    CHECK((losses(account, 0) == Found{{{Cause::kSleep, -1, 0}, 120}}));
    const bool is_watcher = background == 2;
    CHECK((losses(account, 1) ==
           (is_watcher ? Found{{{Cause::kSerial, -1, 0}, 40}} : Found{{{Cause::kImbalance, 6, 0}, 40}})));
  }
}

// Threads 1 and 2 wait until thread 3, of the VM, ends the process at 90; before that it had ended a pause of thread 0.
void who_was_woken_to_die_did_not_wait_for_a_pause() {
  Slices slices;
  slices.add(0, 90, 80, 0, 10, 3, 1);
  slices.add(1, 100, 0, 10, 90, 3, 1);
  slices.add(2, 100, 0, 10, 90, 3, 2);
  const Found in_vain{{{Cause::kSafepoint, -1, 3}, 20}, {{Cause::kSleep, -1, 2}, 100}, {{Cause::kSerial, -1, 0}, 160}};
  const Found ended{{{Cause::kSafepoint, -1, 3}, 200}, {{Cause::kSerial, -1, 0}, 80}};
  for (const bool is_exit : {true, false}) {
    const std::vector<int64_t> exit_ns(is_exit ? 4 : 0, 90);
    LossAccount account({0, 90, 4, 100, {}}, {{0, 0, 0, 3}, {}, exit_ns}, {}, {}, {}, {});
    account.batch(slices.columns());
    account.finish();
    CHECK((losses(account) == (is_exit ? in_vain : ended)));
  }
}

// Consumers of two producers that both work: 3 has waited for 1 longer than 2 for 0.
void of_several_consumers_the_one_that_has_waited_longest_is_asked() {
  Slices slices;
  slices.add(0, 100, 100, 0, 0);
  slices.add(1, 100, 100, 0, 0);
  slices.add(2, 101, 51, 0, 50);
  slices.add(3, 101, 51, 0, 50);
  Waiting waits;
  waits.add(2, 20, 50, Cause::kStarved, 5, 0, false);
  waits.add(3, 10, 50, Cause::kStarved, 6, 1, false);
  LossAccount account({20, 50, 3, 100, {}}, {{0, 0, 0, 0}, {}}, waits.columns(), {}, {}, {});
  account.batch(slices.columns());
  account.finish();
  CHECK((losses(account) == Found{{{Cause::kStarved, 6, 1}, 30}}));
}

void check_sums(const LossAccount& account, double cores, int64_t from, int64_t to) {
  double all = 0, bins = 0;
  for (const Segment& segment : account.segments()) {
    CHECK(std::abs(segment.error_ns) < 1e-3);
    for (const double core_ns : segment.core_ns) all += core_ns;
    for (const double used : segment.sums.used) all += used;
    all += segment.sums.stolen + segment.sums.other;
  }
  for (const LossSums& sums : account.bins()) {
    for (const double used : sums.used) bins += used;
    for (const double lost : sums.lost) bins += lost;
    bins += sums.stolen + sums.other;
  }
  CHECK(std::abs(all - cores * static_cast<double>(to - from)) < 1e-3);
  CHECK(std::abs(bins - all) < 1e-3);
}

// Some of it is sensible; most of it overlaps, is out of order, points nowhere or lies outside the window.
void nonsense(unsigned seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto length = [&] { return random() % 50 == 0 ? static_cast<int64_t>(random()) : draw(-3, 60); };
  const int64_t from = draw(0, 500), to = from + draw(0, 1000);
  Slices slices;
  int64_t end = 0;
  for (int i = 0; i < 300; ++i) {
    end = random() % 60 == 0 ? static_cast<int64_t>(random()) : std::min(end, int64_t{1} << 40) + draw(-1, 9);
    slices.add(static_cast<int32_t>(draw(-1, 8)), end, length(), length(), length(), static_cast<int32_t>(draw(-2, 12)),
               static_cast<uint8_t>(draw(0, 12)), length());
  }
  Waiting waits;
  for (int i = 0; i < 200; ++i) {
    const int64_t begin = draw(-50, 1600);
    waits.add(static_cast<int32_t>(draw(-1, 11)), begin, begin + length() / 2, static_cast<Cause>(draw(0, 21)),
              static_cast<int32_t>(draw(-2, 5)), static_cast<int32_t>(draw(-2, 12)), random() % 2 == 0);
  }
  std::vector<int64_t> begins, ends, amounts;
  std::vector<uint8_t> codes;
  std::vector<double> weights;
  for (int i = 0; i < 20; ++i) {
    begins.push_back(draw(0, 1500));
    ends.push_back(random() % 9 == 0 ? INT64_MAX : draw(0, 1500));
    amounts.push_back(length());
    codes.push_back(static_cast<uint8_t>(draw(0, 6)));
    weights.push_back(random() % 9 == 0 ? NAN : static_cast<double>(draw(-1, 3)) / 2);
  }
  std::vector<int64_t> at;
  std::vector<int32_t> who;
  for (int64_t ns = -10; ns < 1600; ns += draw(1, 40)) {
    at.push_back(ns);
    who.push_back(static_cast<int32_t>(draw(-2, 15)));
  }
  const double cores = static_cast<double>(draw(0, 12)) / 2;
  LossAccount account({from, to, cores, draw(1, 300), {draw(0, 1500), draw(0, 1500), draw(0, 1500)}},
                      {{0, 0, 0, 1, 2, 3, 4, 255}, {0, 1, 0, 0, 0, 0, 0, 0, 1, 2, 9}, {draw(0, 1500), INT64_MAX}},
                      waits.columns(), {begins.size(), begins.data(), ends.data(), codes.data(), weights.data()},
                      {begins.size(), begins.data(), ends.data(), amounts.data(), amounts.data()},
                      {at.size(), at.data(), who.data()});
  account.batch(slices.columns());
  account.finish();
  check_sums(account, cores, from, to);
}

}  // namespace
}  // namespace headway

int main() {
  headway::waiters_for_a_lock_take_a_core_each_and_the_rest_is_the_only_active_thread();
  headway::who_joins_a_thread_waits_for_what_that_thread_waits_for();
  headway::what_a_quota_lends_is_paid_back_by_throttled_time();
  headway::only_the_applications_ready_threads_are_delayed_by_the_scheduler();
  headway::others_and_the_recorder_take_what_the_program_leaves();
  headway::who_waits_in_the_background_is_no_reason_for_an_idle_core();
  headway::a_watcher_is_asked_only_where_nobody_works();
  headway::who_was_woken_to_die_did_not_wait_for_a_pause();
  headway::of_several_consumers_the_one_that_has_waited_longest_is_asked();
  for (unsigned seed = 0; seed < 400; ++seed) headway::nonsense(seed);
  return 0;
}
