// The ledger under many threads at once, and payment as the kernel's clocks tell it.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <span>
#include <thread>
#include <vector>

#include "agent/causal/ledger/ledger.h"
#include "agent/causal/ledger/settle.h"
#include "agent/core/clock.h"
#include "cpus/cpus.h"
#include "testing/check.h"

namespace {

using namespace headway::agent;
using namespace headway::agent::causal;

constexpr int64_t kMs = 1'000'000;

void all_hits_are_owed_once_by_each_other_thread() {
  Ledger ledger;
  CHECK(ledger.reserve());
  constexpr uint32_t kThreads = 4;
  constexpr int64_t kHits = 50'000;
  std::vector<DelayAccount*> accounts;
  accounts.reserve(kThreads);
  for (uint32_t i = 1; i <= kThreads; ++i) accounts.push_back(ledger.open(i, i));
  DelayAccount* const witness = ledger.open(99, 99);
  const uint32_t experiment = ledger.begin_experiment();
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (DelayAccount* account : accounts) {
    threads.emplace_back([&ledger, account, experiment] {
      for (int64_t i = 0; i < kHits; ++i) ledger.hit(*account, 3, experiment);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(ledger.delay_ns(), 3 * kHits * kThreads);
  CHECK_EQUAL(ledger.owed_ns(*witness), 3 * kHits * kThreads);
  for (DelayAccount* account : accounts) CHECK_EQUAL(ledger.owed_ns(*account), 3 * kHits * (kThreads - 1));
  ledger.release();
}

void all_owe_a_stop_of_all_and_only_in_its_experiment() {
  Ledger ledger;
  CHECK(ledger.reserve());
  ledger.set_cores(2);
  DelayAccount* const one = ledger.open(1, 1);
  DelayAccount* const two = ledger.open(2, 2);
  const uint32_t before = ledger.begin_experiment();
  const uint32_t experiment = ledger.begin_experiment();
  CHECK(!ledger.stop_all(kMs, before));
  CHECK_EQUAL(ledger.delay_ns(), 0);
  // Whoever waits for a core meanwhile stands still as well, but pays for it later: nobody ran in its place.
  ledger.look(*two, {0, 0, 0});
  CHECK(ledger.stop_all(5 * kMs, experiment));
  ledger.excuse(*two, {10 * kMs, 0, 10 * kMs});
  for (const DelayAccount* account : {one, two}) CHECK_EQUAL(ledger.owed_ns(*account), 5 * kMs);
  ledger.release();
}

void of_each_stop_five_milliseconds_count_at_most() {
  Ledger ledger;
  ledger.stood(kMs);
  ledger.stood(7 * kMs);
  CHECK_EQUAL(ledger.stood_ns(), 6 * kMs);
  // A sleep of 8 ms, a quarter and three quarters shorter.
  ledger.stood_longer(8 * kMs, 6 * kMs);
  CHECK_EQUAL(ledger.stood_ns(), 6 * kMs);
  ledger.stood_longer(8 * kMs, 2 * kMs);
  CHECK_EQUAL(ledger.stood_ns(), 9 * kMs);
}

// Whoever looks while experiments begin sees no more debt than one experiment brought.
void no_thread_seems_to_owe_what_it_does_not_while_experiments_change() {
  Ledger ledger;
  CHECK(ledger.reserve());
  DelayAccount* const hitter = ledger.open(1, 1);
  DelayAccount* const witness = ledger.open(2, 2);
  constexpr int64_t kMost = 1000;
  std::atomic<bool> is_over{false};
  std::thread hitting([&] {
    while (!is_over.load()) {
      const uint32_t experiment = ledger.experiment();
      if (ledger.delay_ns() < kMost / 2) ledger.hit(*hitter, 1, experiment);
    }
  });
  std::thread looking([&] {
    while (!is_over.load()) {
      CHECK(ledger.owed_ns(*witness) <= kMost);
      CHECK(ledger.owed_ns(*hitter) <= kMost);
      if (ledger.is_in_debt(*witness)) ledger.pay(*witness, 1, ledger.experiment());
      ledger.wait_begins(*witness, 0);
      ledger.woken(*witness, *hitter, 0);
      ledger.wait_ends(*witness, WaitEnding::kAsMarked, 0);
    }
  });
  for (int i = 0; i < 20'000; ++i) ledger.begin_experiment();
  is_over.store(true);
  hitting.join();
  looking.join();
  ledger.release();
}

void threads_that_come_and_go_have_accounts_of_their_own() {
  Ledger ledger;
  CHECK(ledger.reserve());
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&ledger, t] {
      for (uint32_t i = 0; i < 20'000; ++i) {
        const uint32_t id = 1 + t + 4 * (i % 3 == 0 ? i : i + Ledger::kAccounts);  // some meet on one place
        DelayAccount* const account = ledger.open(id, id);
        CHECK(account != nullptr);
        CHECK(ledger.find(id) == account);
        CHECK_EQUAL(account->tid.load(), id);
        ledger.close(*account);
        CHECK(ledger.find(id) == nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(ledger.open_accounts(), 0U);
  CHECK_EQUAL(ledger.unprofiled_threads(), 0U);
  ledger.release();
}

// Of an attach: the thread itself begins just when it is found among those that live.
void a_thread_that_two_come_for_at_once_has_one_account() {
  Ledger ledger;
  CHECK(ledger.reserve());
  constexpr uint32_t kRounds = 20'000;
  std::atomic<uint32_t> turn{0};
  std::vector<DelayAccount*> found[2] = {std::vector<DelayAccount*>(kRounds + 1),
                                         std::vector<DelayAccount*>(kRounds + 1)};
  std::atomic<uint32_t> made{0};
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (uint32_t id = 1; id <= kRounds; ++id) {
        turn.fetch_add(1);
        while (turn.load() < 2 * id) sched_yield();
        bool is_new = false;
        mine[id] = ledger.find_or_open(id, id, is_new);
        if (is_new) made.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(found[0] == found[1]);
  CHECK_EQUAL(made.load(), kRounds);
  CHECK_EQUAL(ledger.open_accounts(), kRounds);
  ledger.release();
}

void a_thread_that_finds_no_place_is_counted() {
  Ledger ledger;
  CHECK(ledger.reserve());
  for (uint32_t i = 0; i < Ledger::kMostProbes; ++i) CHECK(ledger.open(1 + i, 1 + i) != nullptr);
  CHECK(ledger.open(1 + Ledger::kAccounts, 1) == nullptr);
  CHECK_EQUAL(ledger.unprofiled_threads(), 1U);
  ledger.release();
}

void clocks_without_a_descriptor_for_the_kernels_are_counted() {
  clear_run_delays();
  CHECK(read_clocks().run_delay_ns >= 0);
  CHECK_EQUAL(run_delays().unknown, 0U);
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit none{0, limit.rlim_max};
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const int64_t run_delay_ns = read_clocks().run_delay_ns;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK_EQUAL(run_delay_ns, -1);
  CHECK_EQUAL(run_delays().read, 2U);
  CHECK_EQUAL(run_delays().unknown, 1U);
}

DelayAccount& indebted(int64_t owed_ns) {
  ledger().reserve();
  ledger().set_cores(2);
  static DelayAccount* const payer = ledger().open(1, 1);
  static DelayAccount* const hitter = ledger().open(2, 2);
  ledger().begin_experiment();
  CHECK(!ledger().is_in_debt(*payer));
  payer->looked.run_delay_ns = -1;  // no excuse
  ledger().hit(*hitter, owed_ns, ledger().experiment());
  return *payer;
}

int64_t cpu_time_of(auto&& act) {
  const int64_t from_ns = thread_cpu_ns();
  act();
  return thread_cpu_ns() - from_ns;
}

void spinning_burns_as_much_cpu_time_as_is_owed() {
  set_spinning(true);
  DelayAccount& account = indebted(20 * kMs);
  const int64_t before_ns = account.spun_ns.load();
  const int64_t burnt_ns = cpu_time_of([&] { settle(account); });
  CHECK(burnt_ns >= 20 * kMs);
  CHECK(account.spun_ns.load() - before_ns >= 20 * kMs);
  CHECK(account.spun_ns.load() - before_ns <= burnt_ns);
  CHECK(ledger().owed_ns(account) <= 0);
}

void a_stop_counts_for_as_long_as_the_thread_stood_still_and_not_if_it_owed_nothing() {
  set_spinning(false);
  DelayAccount& account = indebted(2 * kMs);
  const int64_t before_ns = ledger().stood_ns();
  settle(account);
  const int64_t stood_ns = ledger().stood_ns() - before_ns;
  CHECK(stood_ns >= 2 * kMs);
  CHECK(stood_ns <= Ledger::kMostStoodNs);
  settle(account);
  CHECK_EQUAL(ledger().stood_ns() - before_ns, stood_ns);
}

void sleeping_takes_as_long_as_is_owed_and_what_it_oversleeps_is_credit() {
  set_spinning(false);
  DelayAccount& account = indebted(20 * kMs);
  const int64_t from_ns = monotonic_ns();
  settle(account);
  const int64_t took_ns = monotonic_ns() - from_ns;
  CHECK(took_ns >= 20 * kMs);
  const int64_t credit_ns = -ledger().owed_ns(account);
  CHECK(credit_ns >= 0);
  CHECK(credit_ns <= took_ns - 20 * kMs);
  CHECK(account.slept_ns.load() > 0);
}

// The least of several: a pause of this machine counts as CPU time.
int64_t paid_in_java_ns(const std::atomic<uintptr_t>* stop_word) {
  int64_t least_ns = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    DelayAccount& account = indebted(3'600'000 * kMs);
    account.stop_word = stop_word;
    settle(account, PayIn::kJava);
    least_ns = std::min(least_ns, 3'600'000 * kMs - ledger().owed_ns(account));
    account.stop_word = nullptr;
  }
  return least_ns;
}

void a_sample_pays_a_part_and_more_of_it_where_the_jvm_can_call_the_thread() {
  set_spinning(true);
  const std::atomic<uintptr_t> at_rest{~uintptr_t{1}};
  CHECK(paid_in_java_ns(&at_rest) >= kMostInJavaNs);
  CHECK(paid_in_java_ns(nullptr) >= kMostUncalledNs);
  CHECK(paid_in_java_ns(nullptr) < kMostInJavaNs);
}

void who_is_in_java_pays_nothing_from_when_the_jvm_wants_it_to_stop() {
  for (const bool spin : {true, false}) {
    set_spinning(spin);
    DelayAccount& account = indebted(3'600'000 * kMs);
    std::atomic<uintptr_t> word{1};
    account.stop_word = &word;
    settle(account, PayIn::kJava);
    CHECK_EQUAL(ledger().owed_ns(account), 3'600'000 * kMs);
    account.stop_word = nullptr;
  }
}

void who_pays_while_the_jvm_stops_all_needs_no_core_and_has_paid_nothing_meanwhile() {
  constexpr int64_t kStoppedNs = 50 * kMs;
  for (const bool spin : {true, false}) {
    set_spinning(spin);
    DelayAccount& account = indebted(20 * kMs);
    std::atomic<uintptr_t> word{1};
    account.stop_word = &word;
    const int64_t from_ns = monotonic_ns();
    std::thread going_on([&word] {
      const timespec nap{0, kStoppedNs};
      nanosleep(&nap, nullptr);
      word = ~uintptr_t{1};
    });
    const int64_t burnt_ns = cpu_time_of([&] { settle(account); });
    CHECK(monotonic_ns() - from_ns >= kStoppedNs + 20 * kMs);
    CHECK(!spin || burnt_ns <= 20 * kMs + kStoppedNs / 2);
    CHECK(ledger().owed_ns(account) <= 0);
    going_on.join();
    account.stop_word = nullptr;
  }
}

std::atomic<uintptr_t> polled_word;
std::atomic<int> polls;

// As HotSpot does: the mark is taken back by nobody else.
void who_pays_takes_back_the_mark_of_a_safepoint_that_is_over() {
  set_safepoint_poll([] {
    ++polls;
    polled_word = ~uintptr_t{1};
  });
  for (const bool spin : {true, false}) {
    set_spinning(spin);
    DelayAccount& account = indebted(20 * kMs);
    polls = 0;
    polled_word = 1;
    account.stop_word = &polled_word;
    settle(account);
    CHECK_EQUAL(polls.load(), 1);
    CHECK(ledger().owed_ns(account) <= 0);
    account.stop_word = nullptr;
  }
  set_safepoint_poll(nullptr);
}

void nobody_pays_for_an_experiment_that_is_over() {
  for (const bool spin : {true, false}) {
    set_spinning(spin);
    DelayAccount& account = indebted(3'600'000 * kMs);
    std::thread ending([] {
      const timespec nap{0, 10 * kMs};
      nanosleep(&nap, nullptr);
      ledger().begin_experiment();
    });
    settle(account);  // for an hour, else
    ending.join();
    CHECK_EQUAL(ledger().owed_ns(account), 0);
  }
}

void a_signal_in_the_middle_of_paying_does_not_pay_again() {
  set_spinning(true);
  DelayAccount& account = indebted(5 * kMs);
  account.is_settling.store(true);
  settle(account);
  CHECK_EQUAL(ledger().owed_ns(account), 5 * kMs);
  account.is_settling.store(false);
  errno = 77;
  settle(account);
  CHECK_EQUAL(errno, 77);
  CHECK(ledger().owed_ns(account) <= 0);
}

// The excuse depends on the kernel's count of time spent waiting for a CPU.
void the_kernel_counts_how_long_a_thread_waits_for_a_core() {
  const std::vector<int> before = headway::allowed_cpus();
  CHECK(!before.empty());
  CHECK(headway::bind_to_cpus(std::span(before).first(1)));
  const auto burn = [] {
    const int64_t from_ns = thread_cpu_ns();
    while (thread_cpu_ns() - from_ns < 100 * kMs) {
    }
  };
  const Clocks from = read_clocks();
  std::thread other(burn);
  burn();
  other.join();
  const Clocks to = read_clocks();
  CHECK(headway::bind_to_cpus(before));
  if (from.run_delay_ns < 0) return;  // a kernel that does not tell: nobody is excused, and it is counted
  const int64_t waited_ns = to.run_delay_ns - from.run_delay_ns;
  CHECK(waited_ns > 20 * kMs);  // two burn 100 ms each on one core, side by side
}

}  // namespace

int main() {
  all_hits_are_owed_once_by_each_other_thread();
  all_owe_a_stop_of_all_and_only_in_its_experiment();
  of_each_stop_five_milliseconds_count_at_most();
  no_thread_seems_to_owe_what_it_does_not_while_experiments_change();
  threads_that_come_and_go_have_accounts_of_their_own();
  a_thread_that_two_come_for_at_once_has_one_account();
  a_thread_that_finds_no_place_is_counted();
  clocks_without_a_descriptor_for_the_kernels_are_counted();
  spinning_burns_as_much_cpu_time_as_is_owed();
  sleeping_takes_as_long_as_is_owed_and_what_it_oversleeps_is_credit();
  a_sample_pays_a_part_and_more_of_it_where_the_jvm_can_call_the_thread();
  who_is_in_java_pays_nothing_from_when_the_jvm_wants_it_to_stop();
  who_pays_while_the_jvm_stops_all_needs_no_core_and_has_paid_nothing_meanwhile();
  who_pays_takes_back_the_mark_of_a_safepoint_that_is_over();
  nobody_pays_for_an_experiment_that_is_over();
  a_stop_counts_for_as_long_as_the_thread_stood_still_and_not_if_it_owed_nothing();
  a_signal_in_the_middle_of_paying_does_not_pay_again();
  the_kernel_counts_how_long_a_thread_waits_for_a_core();
}
