// How far programs would be ahead without some of their waits: programs whose time without them is known, and columns
// that no recording would have.
#include "replay/replay.h"

#include <algorithm>
#include <random>
#include <vector>

#include "testing/check.h"

namespace headway {
namespace {

struct Events {
  std::vector<uint8_t> what;
  std::vector<int32_t> thread, other, group;
  std::vector<int64_t> length;

  void add(ReplayEvent event, int32_t who, int32_t whom, int64_t ns = 0, int32_t of = -1) {
    what.push_back(static_cast<uint8_t>(event));
    thread.push_back(who);
    other.push_back(whom);
    length.push_back(ns);
    group.push_back(of);
  }
  void waited(int32_t who, int32_t whom, int64_t ns, int32_t of = -1) {
    if (whom >= 0) add(ReplayEvent::kWoken, who, whom);
    add(ReplayEvent::kEnded, who, whom, ns, of);
  }
  std::vector<int64_t> replayed(size_t threads, size_t groups, size_t last) const {
    return headway::replayed({what.size(), what.data(), thread.data(), other.data(), length.data(), group.data()},
                             threads, groups, {last});
  }
};

using Ahead = std::vector<int64_t>;

// Two threads with pieces of 16 with a lock and 4 without; main (0) joins both. They would take 40 each, and took 68.
void what_a_lock_delays_goes_with_it_the_laggard_at_the_join_too() {
  Events events;
  events.add(ReplayEvent::kBorn, 1, 0);
  events.add(ReplayEvent::kBorn, 2, 0);
  events.waited(2, 1, 16, 0);
  events.waited(1, 2, 12, 0);
  events.waited(2, 1, 12, 0);
  events.waited(0, 1, 52);
  events.waited(0, 2, 16);
  CHECK(events.replayed(3, 1, 0) == Ahead{28});
}

// The lock kept a thread that nobody waited for: main joins the other one, which never waits.
void a_wait_beside_the_last_thread_gains_nothing() {
  Events events;
  events.add(ReplayEvent::kBorn, 1, 0);
  events.add(ReplayEvent::kBorn, 2, 0);
  events.waited(2, 1, 16, 0);
  events.waited(0, 1, 52);
  CHECK(events.replayed(3, 1, 0) == Ahead{0});
}

// One waits for 100 for a condition, the other for nothing; then, for a moment, for a lock that the other one has. Without the
// condition it comes by there 100 earlier, and the other one has the lock no more.
void who_comes_earlier_than_the_one_that_had_a_lock_does_not_wait_for_it() {
  for (const bool is_lock : {true, false}) {
    Events events;
    events.waited(1, -1, 100, 0);
    events.add(ReplayEvent::kWoken, 1, 2);
    events.add(is_lock ? ReplayEvent::kGot : ReplayEvent::kEnded, 1, 2, 1);
    CHECK(events.replayed(3, 1, 1) == Ahead{is_lock ? 100 : 0});
  }
}

// A holder that is ahead lets its waiter go on earlier, but by no more than that one waited.
void who_waits_for_a_holder_that_is_ahead_waits_less() {
  for (const int64_t ahead : {0, 5, 50}) {
    Events events;
    events.waited(2, -1, ahead, 0);
    events.add(ReplayEvent::kWoken, 1, 2);
    events.add(ReplayEvent::kGot, 1, 2, 20);
    CHECK(events.replayed(3, 1, 1) == Ahead{std::min<int64_t>(ahead, 20)});
  }
}

// Each group alone: a sleep of 10 behind a lock of 5, and both in the thread that is joined.
void groups_are_replayed_beside_each_other() {
  Events events;
  events.waited(1, 2, 5, 0);
  events.waited(1, -1, 10, 1);
  events.waited(0, 1, 30);
  CHECK((events.replayed(3, 3, 0) == Ahead{5, 10, 0}));
}

// A thread that has gained 10 waits 4 longer for one that has gained nothing.
void who_comes_earlier_waits_for_who_does_not() {
  Events events;
  events.waited(0, -1, 10, 0);
  events.waited(0, 1, 4);
  CHECK(events.replayed(2, 1, 0) == Ahead{0});
}

void whatever_comes_in_nobody_gains_more_than_all_waits_or_less_than_nothing() {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    Events events;
    const auto pick = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    int64_t all = 0;
    for (int64_t i = pick(0, 40); i > 0; --i) {
      const int64_t ns = pick(0, 1000);
      all += ns;
      events.add(static_cast<ReplayEvent>(pick(0, 3)), static_cast<int32_t>(pick(-2, 6)),
                 static_cast<int32_t>(pick(-2, 6)), ns, static_cast<int32_t>(pick(-2, 4)));
    }
    const Ahead found = events.replayed(5, 3, static_cast<size_t>(pick(0, 6)));
    CHECK_EQUAL(found.size(), size_t{3});
    for (const int64_t ahead : found) CHECK(ahead >= 0 && ahead <= all);
  }
}

void of_no_threads_or_groups_there_is_nothing_to_say() {
  Events events;
  events.waited(0, 1, 4, 0);
  CHECK(events.replayed(0, 1, 0) == Ahead{0});
  CHECK(events.replayed(2, 0, 0).empty());
}

}  // namespace
}  // namespace headway

int main() {
  headway::what_a_lock_delays_goes_with_it_the_laggard_at_the_join_too();
  headway::a_wait_beside_the_last_thread_gains_nothing();
  headway::who_comes_earlier_than_the_one_that_had_a_lock_does_not_wait_for_it();
  headway::who_waits_for_a_holder_that_is_ahead_waits_less();
  headway::groups_are_replayed_beside_each_other();
  headway::who_comes_earlier_waits_for_who_does_not();
  headway::whatever_comes_in_nobody_gains_more_than_all_waits_or_less_than_nothing();
  headway::of_no_threads_or_groups_there_is_nothing_to_say();
}
