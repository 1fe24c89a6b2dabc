// The machine's CPUs by number, with holes and beyond 1024.
#include "cpus/cpus.h"

#include <sched.h>

#include <algorithm>
#include <vector>

#include "testing/check.h"

using headway::allowed_cpu_count;
using headway::allowed_cpus;
using headway::bind_to_cpus;
using headway::cpu_places;
using headway::cpus_of_stat;
using headway::online_cpus;
using headway::parse_cpu_list;
using headway::places_of;

namespace {

using Cpus = std::vector<int>;

void a_list_has_single_cpus_ranges_and_holes() {
  CHECK(parse_cpu_list("0\n") == Cpus({0}));
  CHECK(parse_cpu_list("0-3,8-11\n") == Cpus({0, 1, 2, 3, 8, 9, 10, 11}));
  CHECK(parse_cpu_list("0,2,4-5,1027") == Cpus({0, 2, 4, 5, 1027}));
}

void what_is_no_list_gives_what_stands_before_the_mistake() {
  CHECK(parse_cpu_list("").empty());
  CHECK(parse_cpu_list("\n").empty());
  CHECK(parse_cpu_list("-1").empty());
  CHECK(parse_cpu_list("x").empty());
  CHECK(parse_cpu_list("0-1,x") == Cpus({0, 1}));
  CHECK(parse_cpu_list("3,5-") == Cpus({3}));
  CHECK(parse_cpu_list("3-1").empty());
}

void a_list_that_no_kernel_writes_takes_no_memory() {
  CHECK(parse_cpu_list("0-99999999999999999999").empty());
  CHECK(parse_cpu_list("0-2147483647").empty());
}

void a_table_by_cpu_has_a_place_for_the_highest_number_whatever_the_holes() {
  CHECK_EQUAL(places_of(parse_cpu_list("0-3,8-11"), parse_cpu_list("0-1")), 12);
  CHECK_EQUAL(places_of(parse_cpu_list("0-7"), parse_cpu_list("0,7")), 8);
  CHECK_EQUAL(places_of({}, parse_cpu_list("0,5")), 6);
  CHECK_EQUAL(places_of({}, {}), 1);
}

void lines_of_single_cpus_say_which_are_online() {
  const char* const text = "cpu  1 2 3\ncpu0 1 2 3\ncpu9 1 2 3\ncpu10 1 2 3\nintr 5 cpu3\ncpufreq 1\n";
  CHECK(cpus_of_stat(text) == Cpus({0, 9, 10}));
  CHECK(cpus_of_stat("").empty());
  CHECK(cpus_of_stat("cpu4 1") == Cpus({4}));
}

void this_machine_has_a_place_for_each_cpu_that_is_online() {
  const Cpus online = online_cpus();
  CHECK(!online.empty());
  CHECK(online.back() < cpu_places());
  const Cpus allowed = allowed_cpus();
  CHECK(std::includes(online.begin(), online.end(), allowed.begin(), allowed.end()));
}

// The kernel refuses four bytes as it does a set that is smaller than its own.
void a_set_that_the_kernel_finds_too_small_grows() {
  cpu_set_t set;
  CHECK(sched_getaffinity(0, 4, &set) != 0);
  CHECK(allowed_cpus(4) == allowed_cpus());
  CHECK(allowed_cpus(4096) == allowed_cpus());
}

void a_thread_is_bound_to_one_cpu_and_back() {
  const Cpus before = allowed_cpus();
  for (const int cpu : before) {
    CHECK(bind_to_cpus(Cpus({cpu})));
    CHECK(allowed_cpus() == Cpus({cpu}));
    CHECK_EQUAL(allowed_cpu_count(), 1);
  }
  CHECK(bind_to_cpus(before));
  CHECK(allowed_cpus() == before);
  CHECK(!bind_to_cpus({}));
  CHECK(!bind_to_cpus(Cpus({-1})));
  CHECK(!bind_to_cpus(Cpus({60'000})));
  CHECK(allowed_cpus() == before);
}

}  // namespace

int main() {
  a_list_has_single_cpus_ranges_and_holes();
  what_is_no_list_gives_what_stands_before_the_mistake();
  a_list_that_no_kernel_writes_takes_no_memory();
  a_table_by_cpu_has_a_place_for_the_highest_number_whatever_the_holes();
  lines_of_single_cpus_say_which_are_online();
  this_machine_has_a_place_for_each_cpu_that_is_online();
  a_set_that_the_kernel_finds_too_small_grows();
  a_thread_is_bound_to_one_cpu_and_back();
}
