// Time asleep in one line is a union of what its threads sleep, not their sum.
#include "agent/causal/target/blocked_time.h"

#include <memory>
#include <random>
#include <vector>

#include "testing/check.h"

using headway::agent::causal::BlockedTime;

namespace {

constexpr int64_t kSlot = BlockedTime::kSlotNs;
constexpr int64_t kMillisecond = 1'000'000;

void one_sleeper_counts_whole() {
  const auto time = std::make_unique<BlockedTime>();
  int64_t sum = 0;
  for (int64_t at = 0; at < 3'000; at += 5) {
    const auto part = time->add(7, at * kMillisecond, (at + 5) * kMillisecond);
    CHECK(part.own_ns == part.new_ns);
    sum += part.new_ns;
  }
  CHECK(sum == 3'000 * kMillisecond);
}

void many_at_once_count_once_and_owe_nothing() {
  const auto time = std::make_unique<BlockedTime>();
  int64_t sum = 0;
  for (int64_t at = 0; at < 200; at += 5) {
    for (int thread = 0; thread < 200; ++thread) {
      const auto part = time->add(1, at * kMillisecond, (at + 5) * kMillisecond);
      CHECK(part.own_ns == 5 * kMillisecond);
      sum += part.new_ns;
    }
  }
  CHECK(sum == 200 * kMillisecond);
}

void what_was_before_the_experiment_does_not_count() {
  const auto time = std::make_unique<BlockedTime>();
  const auto part = time->add(1, -30'000 * kMillisecond, 20 * kMillisecond);
  CHECK(part.own_ns == 20 * kMillisecond && part.new_ns == 20 * kMillisecond);
  CHECK(time->add(1, -20 * kMillisecond, -kMillisecond).new_ns == 0);
}

void a_new_experiment_begins_anew() {
  const auto time = std::make_unique<BlockedTime>();
  CHECK(time->add(1, 0, 10 * kMillisecond).new_ns == 10 * kMillisecond);
  CHECK(time->add(2, 0, 10 * kMillisecond).new_ns == 10 * kMillisecond);
}

void waits_longer_than_the_ring_count_once() {
  const auto time = std::make_unique<BlockedTime>();
  const int64_t ring_ns = BlockedTime::kSlots * kSlot;
  CHECK(time->add(1, 0, 5 * ring_ns).new_ns == 5 * ring_ns);
  CHECK(time->add(1, ring_ns, 5 * ring_ns).new_ns == 0);
  CHECK(time->add(1, 2 * ring_ns, 8 * ring_ns).new_ns == 3 * ring_ns);
}

// Against a table of all slots. Waits are told of in the order of their ends.
void it_is_the_union_of_any_waits(unsigned seed) {
  std::mt19937 random(seed);
  const auto time = std::make_unique<BlockedTime>();
  std::vector<bool> slept(60'000);
  int64_t slots = 0;
  int64_t sum_ns = 0;
  for (int64_t end = 0; end < static_cast<int64_t>(slept.size());) {
    end += random() % 40;
    if (end > static_cast<int64_t>(slept.size())) break;
    const int64_t from = end - static_cast<int64_t>(random() % 4'000);
    for (int64_t slot = std::max<int64_t>(from, 0); slot < end; ++slot) {
      slots += slept[static_cast<size_t>(slot)] ? 0 : 1;
      slept[static_cast<size_t>(slot)] = true;
    }
    const auto part = time->add(3, from * kSlot, end * kSlot);
    CHECK(part.new_ns <= part.own_ns);
    sum_ns += part.new_ns;
  }
  CHECK(sum_ns == slots * kSlot);
}

// Whatever their ends are: never more than the time that has passed.
void it_is_never_more_than_has_passed(unsigned seed) {
  std::mt19937_64 random(seed);
  const auto time = std::make_unique<BlockedTime>();
  int64_t now_ns = 0;
  int64_t sum_ns = 0;
  for (int i = 0; i < 20'000; ++i) {
    now_ns += static_cast<int64_t>(random() % 300'000);
    sum_ns += time->add(3, now_ns - static_cast<int64_t>(random() % 3'000'000'000), now_ns).new_ns;
    CHECK(sum_ns <= now_ns);
  }
}

}  // namespace

int main() {
  one_sleeper_counts_whole();
  many_at_once_count_once_and_owe_nothing();
  what_was_before_the_experiment_does_not_count();
  a_new_experiment_begins_anew();
  waits_longer_than_the_ring_count_once();
  for (unsigned seed = 0; seed < 20; ++seed) {
    it_is_the_union_of_any_waits(seed);
    it_is_never_more_than_has_passed(seed);
  }
  return 0;
}
