// How many stacks are taken, and whether those that are stand for all blocks.
#include "agent/locks/stack_rhythm.h"

#include <unistd.h>

#include <array>
#include <cstdint>

#include "testing/check.h"

namespace headway::agent {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

void all_threads_together_get_no_more_than_their_allowance() {
  SharedAllowance allowance(50, 10, kMillisecond);
  int64_t now_ns = 1'000 * kMillisecond;
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += allowance.take(now_ns) ? 1 : 0;
  CHECK_EQUAL(taken, 50 + 10);
  now_ns += 3 * kMillisecond;
  for (int i = 0; i < 100; ++i) taken += allowance.take(now_ns) ? 1 : 0;
  CHECK_EQUAL(taken, 50 + 13);
  now_ns += 1'000 * kMillisecond;  // what was not used is not kept for ever
  for (int i = 0; i < 100; ++i) taken += allowance.take(now_ns) ? 1 : 0;
  CHECK_EQUAL(taken, 50 + 23);
}

// A spell of blocks that lasts for `ms` of real time.
struct Spell {
  uint64_t blocks = 0, stacks = 0, weight = 0;
  std::array<uint64_t, 2> weight_of{};  // of blocks with even and odd numbers
};

Spell block_for(int64_t ms, StackRhythm& rhythm, SharedAllowance& shared) {
  Spell spell;
  const int64_t until_ns = monotonic_ns() + ms * kMillisecond;
  rhythm.seen(1);
  while (monotonic_ns() < until_ns) {
    const uint32_t weight = rhythm.weight_of_next(1, shared, shared, monotonic_ns());
    spell.weight_of[spell.blocks % 2] += weight;
    ++spell.blocks;
    if (weight == 0) continue;
    ++spell.stacks;
    spell.weight += weight;
  }
  return spell;
}

void where_the_allowance_is_used_up_the_stacks_that_are_taken_stand_for_all_blocks() {
  SharedAllowance shared(0, 64, 5 * kMillisecond);
  StackRhythm rhythm;
  const Spell spell = block_for(1'500, rhythm, shared);
  CHECK(spell.stacks > 50);
  CHECK(spell.stacks <= 64 + 1'500 / 5 + 200);  // the last term: this machine may pause for a second
  CHECK(spell.weight <= spell.blocks);
  CHECK(spell.weight * 2 > spell.blocks);  // but those since the last stack
  // Neither half is preferred.
  CHECK(spell.weight_of[0] * 4 > spell.weight);
  CHECK(spell.weight_of[1] * 4 > spell.weight);
}

void a_thread_that_blocks_seldom_gets_all_its_stacks() {
  SharedAllowance shared(1'000, 0, kMillisecond);
  StackRhythm rhythm;
  rhythm.seen(1);
  for (int i = 0; i < 20; ++i) {
    usleep(3'000);
    CHECK_EQUAL(rhythm.weight_of_next(1, shared, shared, monotonic_ns()), 1U);
  }
}

}  // namespace
}  // namespace headway::agent

int main() {
  headway::agent::all_threads_together_get_no_more_than_their_allowance();
  headway::agent::where_the_allowance_is_used_up_the_stacks_that_are_taken_stand_for_all_blocks();
  headway::agent::a_thread_that_blocks_seldom_gets_all_its_stacks();
  return 0;
}
