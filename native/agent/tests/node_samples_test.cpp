// Samples of accesses by memory node, of pages of this process, against what the kernel says of them by another call; and
// the gaps between samples.
#include "agent/objects/node_samples.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "testing/check.h"

using namespace headway::agent;

namespace {

constexpr size_t kPage = 4096;

// By the record's type, whose, kind and the page's node.
using Rows = std::map<std::tuple<uint16_t, uint64_t, uint16_t, uint16_t>, std::pair<uint64_t, uint64_t>>;

Rows rows_of(NodeSamples& samples) {
  Rows rows;
  samples.write_changed([&](const hw_access_nodes& row) {
    rows[{row.head.type, row.of, row.kind, row.page_node}] = {row.samples, row.accesses};
  });
  return rows;
}

uint64_t fresh_page() {
  void* const at = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(at != MAP_FAILED);
  return reinterpret_cast<uint64_t>(at);
}

void touch(uint64_t page) { *reinterpret_cast<volatile char*>(page) = 1; }

// Where a page is by get_mempolicy(2), which faults it in.
uint16_t node_by_policy(uint64_t page) {
  constexpr unsigned long kNode = 1, kAddress = 2;
  int node = -1;
  CHECK_EQUAL(syscall(SYS_get_mempolicy, &node, nullptr, 0UL, page, kNode | kAddress), 0L);
  return static_cast<uint16_t>(node);
}

NodeSamples::Access access_to(uint64_t address, uint64_t accesses = 10) {
  NodeSamples::Access access;
  access.java_id = 7;
  access.class_id = 3;
  access.kind = 1;
  access.address = address;
  access.accesses = accesses;
  return access;
}

void a_page_is_on_the_node_that_the_kernel_says_by_another_call() {
  NodeSamples samples;
  NodeSamples::Thread thread(1);
  const uint64_t page = fresh_page();
  touch(page);
  samples.note(thread, access_to(page + 100));
  samples.note(thread, access_to(page + 200, 5));
  const Rows wanted = {{{HW_ACCESS_NODES, 3, 1, node_by_policy(page)}, {2, 15}}};
  CHECK(rows_of(samples) == wanted);
  CHECK(rows_of(samples).empty());  // nothing has changed
  CHECK_EQUAL(samples.refused(), 0U);
}

void a_page_that_is_absent_is_looked_up_again_at_the_next_sample() {
  NodeSamples samples;
  NodeSamples::Thread thread(1);
  const uint64_t there = fresh_page(), later = fresh_page(), never = fresh_page();
  touch(there);
  samples.note(thread, access_to(later));
  CHECK(rows_of(samples).empty());
  touch(later);
  samples.note(thread, access_to(there));
  samples.note(thread, access_to(never));
  samples.note(thread, access_to(there));
  const Rows wanted = {{{HW_ACCESS_NODES, 3, 1, node_by_policy(there)}, {3, 30}},
                       {{HW_ACCESS_NODES, 3, 1, HW_UNKNOWN_NODE}, {1, 10}}};
  CHECK(rows_of(samples) == wanted);
}

void what_is_open_when_a_thread_ends_is_unknown() {
  NodeSamples samples;
  NodeSamples::Thread thread(1);
  samples.note(thread, access_to(fresh_page()));
  samples.end_thread(thread);
  samples.end_thread(thread);
  const Rows wanted = {{{HW_ACCESS_NODES, 3, 1, HW_UNKNOWN_NODE}, {1, 10}}};
  CHECK(rows_of(samples) == wanted);
}

void each_rule_has_its_own_pairs() {
  NodeSamples samples;
  samples.start({true, true});
  NodeSamples::Thread thread(1);
  const uint64_t page = fresh_page();
  touch(page);
  NodeSamples::Access access = access_to(page);
  access.owners = {8, 9};
  samples.note(thread, access);
  const uint16_t node = node_by_policy(page);
  const Rows wanted = {{{HW_ACCESS_NODES, 3, 1, node}, {1, 10}},
                       {{HW_ACCESS_NODE_PAIR, 8, 1, node}, {1, 10}},
                       {{HW_ACCESS_NODE_WRITER_PAIR, 9, 1, node}, {1, 10}}};
  CHECK(rows_of(samples) == wanted);
}

void logarithms_are_those_of_the_c_library() {
  RandomSeries series(5);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t fraction = series.next() >> (i % 64) | 1;
    const double wanted = -std::log(static_cast<double>(fraction) / 18446744073709551616.0);
    CHECK(std::abs(minus_ln(fraction) - wanted) <= 1e-9 * (1 + wanted));
  }
}

// Of a series of a fixed seed: each access has the same chance, the first one and the one behind a sample, too.
void each_access_is_sampled_with_the_same_chance() {
  constexpr uint32_t kMean = 10, kTimes = 200'000;
  RandomSeries series(11);
  std::array<uint32_t, 40> hit{};
  for (uint32_t i = 0; i < kTimes; ++i) {
    for (uint64_t at = random_gap(series, kMean) - 1; at < hit.size(); at += random_gap(series, kMean)) ++hit[at];
  }
  for (const uint32_t each : hit) {
    const double sd = std::sqrt(kTimes * 0.1 * 0.9);
    CHECK(std::abs(each - kTimes * 0.1) < 5 * sd);
  }
}

}  // namespace

int main() {
  a_page_is_on_the_node_that_the_kernel_says_by_another_call();
  a_page_that_is_absent_is_looked_up_again_at_the_next_sample();
  what_is_open_when_a_thread_ends_is_unknown();
  each_rule_has_its_own_pairs();
  logarithms_are_those_of_the_c_library();
  each_access_is_sampled_with_the_same_chance();
}
