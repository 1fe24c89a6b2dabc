// What hooks are said to take: as much as the thread's own clock says of all of them together.
#include "agent/locks/hook_cost.h"

#include <thread>
#include <vector>

#include "testing/check.h"

namespace headway::agent {
namespace {

void burn(int64_t ns) {
  const int64_t end_ns = thread_cpu_ns() + ns;
  while (thread_cpu_ns() < end_ns) {
  }
}

int64_t hooks(int count, int64_t each_ns) {
  const int64_t began_ns = thread_cpu_ns();
  for (int i = 0; i < count; ++i) {
    const HookCost::Call timed;
    burn(each_ns);
  }
  return thread_cpu_ns() - began_ns;
}

void some_calls_stand_for_all_of_them() {
  HookCost::start();
  const auto took_ns = static_cast<double>(hooks(20'000, 5'000));
  CHECK(HookCost::timed() > 200);  // 312 are expected: four deviations are 70
  CHECK(HookCost::timed() < 430);
  const auto counted_ns = static_cast<double>(HookCost::total_ns());
  CHECK(counted_ns > 0.6 * took_ns);
  CHECK(counted_ns < 1.4 * took_ns);
}

void threads_with_a_few_calls_only_count_as_much_as_others() {
  HookCost::start();
  for (int i = 0; i < 2'000; ++i) std::thread([] { hooks(10, 1'000); }).join();
  CHECK(HookCost::timed() > 200);
  CHECK(HookCost::timed() < 430);
}

void time_without_a_core_is_none_of_a_hooks() {
  HookCost::start();
  for (int i = 0; i < 1'000; ++i) {
    const HookCost::Call timed;
    const timespec nap{0, 100'000};
    nanosleep(&nap, nullptr);
  }
  CHECK(HookCost::total_ns() < 1'000 * uint64_t{60'000});
}

void another_recording_begins_at_nothing() {
  hooks(1'000, 1'000);
  HookCost::start();
  CHECK_EQUAL(HookCost::total_ns(), 0U);
  CHECK_EQUAL(HookCost::timed(), 0U);
}

}  // namespace
}  // namespace headway::agent

int main() {
  using namespace headway::agent;
  some_calls_stand_for_all_of_them();
  threads_with_a_few_calls_only_count_as_much_as_others();
  time_without_a_core_is_none_of_a_hooks();
  another_recording_begins_at_nothing();
}
