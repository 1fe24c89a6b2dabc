#include "agent/objects/access_windows.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "testing/check.h"

using namespace headway::agent;

namespace {

// A thread that passes a mark (counter 1) once for many counts of another one (0), slower in windows.
struct Program {
  static constexpr size_t kWords = 2;
  std::vector<uint64_t> block = std::vector<uint64_t>(kWords);
  std::unique_ptr<WindowedThread> thread = WindowedThread::make(kWords);
  AccessWindows windows;
  uint64_t all = 0;  // counts of counter 0, whether switched on or not

  Program() { CHECK(windows.start({kWords, 0, 4, kWords})); }

  void work(uint64_t rounds, uint64_t counts) {
    all += rounds * counts;
    if (windows.switches()[0] == AccessWindows::kOn) block[0] += rounds * counts;
    if (windows.switches()[1] == AccessWindows::kOn) block[1] += rounds;
  }

  AccessWindows::Counting counting() { return {thread.get(), block.data()}; }
  void begin() {
    windows.open_window();
    const AccessWindows::Counting all_of[] = {counting()};
    windows.begin_window(all_of, in_use());
  }
  void look() {
    const AccessWindows::Counting all_of[] = {counting()};
    windows.look(all_of);
  }
  void end() {
    const AccessWindows::Counting all_of[] = {counting()};
    windows.end_window(all_of, in_use());
  }
  static std::vector<AccessWindows::Words> in_use() { return {{0, kWords}}; }

  // As analyses are to do: what windows have counted, and what the thread did between them.
  double estimate() {
    windows.end_thread(counting(), in_use());
    double counted = 0, marks = 0, before = 0;
    for (uint32_t group = 1; group < WindowedThread::kAll; ++group) {
      const WindowWork& work = thread->work(group);
      counted += static_cast<double>(thread->group(group)[0]);
      marks += static_cast<double>(work.marks_between);
      before += static_cast<double>(work.marks_before);
    }
    return static_cast<double>(thread->group(0)[0]) + counted * marks / before;
  }
};

bool is_near(double found, uint64_t wanted, double share) {
  const auto number = static_cast<double>(wanted);
  return found > number * (1 - share) && found < number * (1 + share);
}

void all_is_counted_until_the_first_window_ends() {
  Program program;
  program.work(5, 1000);
  program.windows.end_thread(program.counting(), Program::in_use());
  CHECK_EQUAL(program.thread->group(0)[0], 5000U);
  CHECK_EQUAL(program.thread->group(0)[1], 5U);
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

void a_counter_that_is_more_than_one_in_a_hundred_is_no_mark() {
  Program program;
  program.work(100, 10);
  program.end();
  CHECK_EQUAL(program.windows.switches()[1], AccessWindows::kOff);
}

void a_steady_ratio_is_estimated_right_however_slow_windows_are() {
  Program program;
  program.work(100, 1000);
  program.end();
  for (uint64_t i = 0; i < 20; ++i) {
    program.work(8000, 1000);
    program.look();
    program.work(1000, 1000);
    program.begin();
    program.work(100 + i, 1000);
    program.end();
  }
  program.work(3000, 1000);
  CHECK(is_near(program.estimate(), program.all, 0.001));
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
    program.work(i % 2 == 0 ? 300 : 30, counts);  // ten times as slow where it counts ten times as much
    program.end();
  }
  CHECK(is_near(program.estimate(), program.all, 0.001));
}

}  // namespace

int main() {
  all_is_counted_until_the_first_window_ends();
  between_windows_the_rarest_counters_alone_are_on();
  a_counter_that_is_more_than_one_in_a_hundred_is_no_mark();
  a_steady_ratio_is_estimated_right_however_slow_windows_are();
  windows_weigh_what_the_thread_does_at_its_own_speed();
  return 0;
}
