// What a thread counts in windows, and what follows from it for the spells before them: a thread whose work is known.
#include "agent/objects/access_windows.h"

#include <random>
#include <vector>

#include "testing/check.h"

using namespace headway::agent;

namespace {

constexpr size_t kCounters = 64;

// A thread that passes the marks (counters 1 and 2) once in each piece of work, and counter 0 as often as the work says.
struct Program {
  AccessWindows windows;
  std::vector<uint64_t> block = std::vector<uint64_t>(kCounters);
  std::unique_ptr<WindowedThread> thread = WindowedThread::make(kCounters);
  bool has_looked = false;
  uint64_t in_spells = 0;  // what counter 0 would have counted there

  Program() { windows.start(kCounters); }

  AccessWindows::Counting counting() { return {thread.get(), block.data()}; }

  // Counts as the hook class does: only what is switched on.
  void add(size_t counter, uint64_t times) {
    if (windows.switches()[counter] == AccessWindows::kOn) block[counter] += times;
  }

  void work(uint64_t pieces, uint64_t counts, size_t first_mark = 1) {
    add(0, pieces * counts);
    add(first_mark, pieces);
    add(first_mark + 1, pieces);
    if (has_looked) in_spells += pieces * counts;
  }

  void look() {
    const std::vector<AccessWindows::Counting> all{counting()};
    windows.look(all);
    has_looked = true;
  }
  void begin() {
    const std::vector<AccessWindows::Counting> all{counting()};
    has_looked = false;
    windows.open_window();
    windows.begin_window(all, kCounters);
  }
  void end() {
    const std::vector<AccessWindows::Counting> all{counting()};
    windows.end_window(all, kCounters);
  }

  uint64_t estimated() const {
    uint64_t sum = 0;
    for (uint32_t group = 1; group <= WindowedThread::kGroups; ++group) sum += thread->counters_of_group(group)[0];
    return sum;
  }
};

bool is_near(uint64_t found, uint64_t wanted, double share) {
  const auto number = static_cast<double>(wanted);
  return static_cast<double>(found) > number * (1 - share) && static_cast<double>(found) < number * (1 + share);
}

void all_is_counted_until_the_first_window_ends() {
  Program program;
  program.work(5, 1000);
  program.windows.end_thread(program.counting(), kCounters);
  CHECK_EQUAL(program.thread->counters_of_group(0)[0], 5000U);
  CHECK_EQUAL(program.thread->counters_of_group(0)[1], 5U);
}

void between_windows_the_rarest_counters_alone_are_on() {
  Program program;
  program.work(100, 1000);
  program.end();
  CHECK_EQUAL(program.windows.switches()[0], AccessWindows::kOff);
  CHECK_EQUAL(program.windows.switches()[1], AccessWindows::kOn);
  program.begin();
  CHECK_EQUAL(program.windows.switches()[0], AccessWindows::kOn);
}

void counters_that_are_more_than_one_in_a_hundred_are_no_marks() {
  Program program;
  program.work(100, 10);
  program.end();
  CHECK_EQUAL(program.windows.switches()[1], AccessWindows::kOff);
}

void what_windows_count_is_exact_whatever_is_between_them() {
  Program program;
  program.work(100, 1000);
  program.end();
  program.work(8000, 1000);
  program.look();
  program.work(900, 1000);
  program.begin();
  program.work(50, 1000);
  program.end();
  CHECK_EQUAL(program.thread->counters_of_group(0)[0], 150'000U);
  CHECK_EQUAL(program.thread->counters_of_group(WindowedThread::kKnown)[0], 50'000U);
  CHECK_EQUAL(program.thread->check(kCounters).in, 100U);
}

void a_spell_is_estimated_right_however_slow_its_window_is() {
  Program program;
  program.work(100, 1000);
  program.end();
  for (uint64_t i = 0; i < 20; ++i) {
    program.work(8000, 1000);
    program.look();
    program.work(1000 + i, 1000);
    program.begin();
    program.work(100 + 10 * i, 1000);
    program.end();
  }
  CHECK(is_near(program.estimated(), program.in_spells, 0.0001));
  const MarkCheck check = program.thread->check(kCounters);
  CHECK_EQUAL(check.passed, 2 * (20 * 1000U + 190));
  CHECK_EQUAL(check.largest, 20 * 1000U + 190);
  CHECK(check.wrong < 3);
}

void windows_weigh_what_the_thread_does_at_its_own_speed() {
  Program program;
  program.work(100, 1000);
  program.end();
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t counts = i % 2 == 0 ? 500 : 5000;
    program.work(9000, counts);
    program.look();
    program.work(1000, counts);
    program.begin();
    program.work(i % 2 == 0 ? 300 : 40, counts);  // many times as slow where it counts ten times as much
    program.end();
  }
  CHECK(is_near(program.estimated(), program.in_spells, 0.0001));
}

void windows_that_are_not_like_the_spells_before_them_fail_the_check() {
  Program program;
  program.work(1000, 1000, 1);
  program.work(1000, 1000, 3);
  program.end();
  for (uint64_t i = 0; i < 40; ++i) {
    program.look();
    program.work(100, 1000, 1);
    program.work(1000, 1000, 3);
    program.begin();
    program.work(500, 1000, 1);
    program.work(500, 1000, 3);
    program.end();
  }
  const MarkCheck check = program.thread->check(kCounters);
  CHECK_EQUAL(check.passed, 40 * 2200U);
  CHECK(is_near(check.wrong, 40 * 2 * 2 * 450U, 0.001));
}

void a_spell_without_marks_is_not_estimated() {
  Program program;
  program.work(1000, 1000);
  program.end();
  program.look();
  program.work(10, 1000);
  program.begin();
  program.work(1000, 1000);
  program.end();
  CHECK_EQUAL(program.estimated(), 0U);
  CHECK_EQUAL(program.thread->check(kCounters).passed, 0U);
}

void a_thread_that_begins_in_a_spell_has_what_it_did_in_it() {
  Program program;
  program.work(1000, 1000);
  program.end();
  std::unique_ptr<WindowedThread> other = WindowedThread::make(kCounters);
  std::vector<uint64_t> block(kCounters);
  program.look();
  block[1] += 60;
  const std::vector<AccessWindows::Counting> all{program.counting(), {other.get(), block.data()}};
  program.windows.open_window();
  program.windows.begin_window(all, kCounters);
  block[0] += 30'000;
  block[1] += 30;
  program.windows.end_window(all, kCounters);
  CHECK_EQUAL(other->counters_of_group(0)[0], 30'000U);
  CHECK_EQUAL(other->counters_of_group(1)[0], 60'000U);
}

// The share of marks that is called wrong after 50 windows in each of which, and in each spell, a mark is passed a few times, drawn
// at random. `more`: in windows half of the marks are passed so many times as often, and the others as much less.
double share_wrong_by_chance(double more) {
  constexpr size_t kMarks = 60;
  std::mt19937 random(7);
  const auto passes = [&](double mean) { return static_cast<uint64_t>(std::poisson_distribution<int>(mean)(random)); };
  Program program;
  program.work(5000, 1000);
  for (size_t mark = 1; mark <= kMarks; ++mark) program.add(mark, 5);
  program.end();
  for (int window = 0; window < 50; ++window) {
    program.look();
    for (size_t mark = 1; mark <= kMarks; ++mark) program.add(mark, passes(5));
    program.begin();
    program.add(0, 100'000);
    for (size_t mark = 1; mark <= kMarks; ++mark) program.add(mark, passes(1 + (mark % 2 == 0 ? more : -more)));
    program.end();
  }
  const MarkCheck check = program.thread->check(kCounters);
  CHECK(is_near(check.passed, 50 * kMarks * 5, 0.05));
  return static_cast<double>(check.wrong) / static_cast<double>(check.passed);
}

// By hand: of a mark 250 passes with 39 more or fewer by chance, which is an eighth of all in the mean.
void marks_that_differ_by_chance_alone_are_mostly_not_wrong() {
  const double by_chance = share_wrong_by_chance(0);
  CHECK(by_chance > 0.02);
  CHECK(by_chance < 0.1);
  const double unlike = share_wrong_by_chance(0.3);
  CHECK(unlike > 0.25);
  CHECK(unlike < 0.4);
}

// The edge that a window begins or ends at may still go on while the recording ends.
void edges_after_the_end_change_nothing() {
  Program program;
  program.work(100, 1000);
  program.end();
  program.look();
  program.work(100, 1000);
  program.windows.end_thread(program.counting(), kCounters);
  program.windows.end();
  program.begin();
  program.work(100, 1000);
  program.end();
  CHECK_EQUAL(program.windows.windows(), 1U);
  CHECK_EQUAL(program.windows.switches()[0], AccessWindows::kOff);
  CHECK_EQUAL(program.windows.switches()[1], AccessWindows::kOff);
  CHECK_EQUAL(program.thread->counters_of_group(0)[0], 100'000U);
  CHECK_EQUAL(program.estimated(), 0U);
}

}  // namespace

int main() {
  all_is_counted_until_the_first_window_ends();
  between_windows_the_rarest_counters_alone_are_on();
  counters_that_are_more_than_one_in_a_hundred_are_no_marks();
  what_windows_count_is_exact_whatever_is_between_them();
  a_spell_is_estimated_right_however_slow_its_window_is();
  windows_weigh_what_the_thread_does_at_its_own_speed();
  windows_that_are_not_like_the_spells_before_them_fail_the_check();
  a_spell_without_marks_is_not_estimated();
  a_thread_that_begins_in_a_spell_has_what_it_did_in_it();
  marks_that_differ_by_chance_alone_are_mostly_not_wrong();
  edges_after_the_end_change_nothing();
  return 0;
}
