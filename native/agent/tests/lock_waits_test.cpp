// What becomes of single waits: whose they were, who woke them, and how they end.
#include <algorithm>
#include <memory>
#include <vector>

#include "agent/core/clock.h"
#include "lock_recording.h"

namespace headway::agent {
namespace {

void a_wait_becomes_a_record_with_its_blocker_its_owner_and_its_waker() {
  Recording recording;
  Thread waiter;
  Thread waker;
  Thing lock{5};
  const int64_t before = monotonic_ns();
  const Waits::Handle wait = recording->wait_begins(waiter.java, waiter.locks, park(&lock, 11, 12, HW_BL_TIMED));
  CHECK(wait != 0);
  recording->waking(waker.java, waker.locks, 99, 12);  // who does not wait
  recording->waking(waker.java, waker.locks, 11, 12);
  recording->waking(waker.java, waker.locks, 11, 13);  // too late
  recording->wait_ends(waiter.locks, wait, HW_BL_PINNED);
  recording->wait_ends(waiter.locks, wait, 0);  // in vain
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blockers.size(), 1u);
  CHECK_EQUAL(all.blockers[0].identity_hash, 5u);
  CHECK_EQUAL(all.blockers[0].first_java_id, 11u);
  CHECK_EQUAL(all.blockers[0].first_stack_id, 77u);
  CHECK_EQUAL(all.blocks.size(), 1u);
  const hw_block& block = all.blocks[0];
  CHECK_EQUAL(block.blocker_id, all.blockers[0].blocker_id);
  CHECK(before <= block.start_ns && block.start_ns <= block.waking_ns && block.waking_ns <= block.head.ts_ns);
  CHECK_EQUAL(block.java_id, 11u);
  CHECK_EQUAL(block.waker_java_id, 12u);
  CHECK_EQUAL(block.waker_stack_id, 77u);
  CHECK_EQUAL(block.owner_java_id, 12u);
  CHECK_EQUAL(block.flags, HW_BL_TIMED | HW_BL_PINNED);
  CHECK_EQUAL(block.stack_id, 77u);
  CHECK_EQUAL(block.weight, 1u);
  const Table table = recording.table();
  CHECK_EQUAL(table.of(block.blocker_id).times_parked, 1u);
}

// Of four sleeps whose time is known: one is over when its time is, one earlier, one was ended before, one began later.
void a_wait_whose_time_is_over_was_ended_then_and_by_nobody() {
  Recording recording;
  Thread thread;
  const auto sleeps = [&](uint32_t waker, auto due_ns) {
    const uint32_t flags = HW_BL_TIMED | HW_BL_VIRTUAL | HW_BL_SLEEP;
    const Waits::Handle wait = recording->wait_begins(thread.java, thread.locks, park(nullptr, 1, 0, flags));
    if (waker != 0) recording->waking(thread.java, thread.locks, 1, waker);
    recording->wait_ends(thread.locks, wait, 0, due_ns(monotonic_ns()));
  };
  const auto now = [](int64_t now_ns) { return now_ns; };
  sleeps(0, now);
  sleeps(0, [](int64_t now_ns) { return now_ns + 1'000'000'000; });
  sleeps(2, now);
  sleeps(0, [](int64_t now_ns) { return now_ns - 1'000'000'000; });
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 4u);
  CHECK(all.blocks[0].start_ns < all.blocks[0].waking_ns && all.blocks[0].waking_ns <= all.blocks[0].head.ts_ns);
  CHECK_EQUAL(all.blocks[0].waker_java_id, 0u);
  CHECK_EQUAL(all.blocks[1].waking_ns, 0);
  CHECK_EQUAL(all.blocks[2].waker_java_id, 2u);
  CHECK_EQUAL(all.blocks[3].waking_ns, 0);
}

void objects_of_one_hash_and_uses_of_one_object_are_told_apart() {
  Recording recording;
  Thread thread;
  Thing one{5};
  Thing other{5};
  for (int i = 0; i < 3; ++i) {
    for (Thing* thing : {&one, &other, static_cast<Thing*>(nullptr)}) {
      recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(thing, 1)), 0);
    }
    LockRecords::Beginning as_monitor = park(&one, 1);
    as_monitor.kind = HW_BK_MONITOR;
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, as_monitor), 0);
  }
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blockers.size(), 3u);
  CHECK_EQUAL(all.blocks.size(), 12u);
  const Table table = recording.table();
  for (const hw_blocker& blocker : all.blockers) CHECK_EQUAL(table.of(blocker.blocker_id).times_parked, 3u);
  CHECK_EQUAL(table.of(0).times_parked, 3u);  // without a blocker
}

// A thread that was woken in vain parks again; so does one that was not recorded before, whose first block this is
// then.
void parks_of_one_acquisition_are_one_wait_and_sleeps_have_a_row_of_their_own() {
  Recording recording;
  Thread thread;
  Thing lock{5};
  for (const uint32_t flags : {uint32_t{HW_BL_AGAIN}, uint32_t{HW_BL_AGAIN}, 0U, uint32_t{HW_BL_AGAIN}}) {
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, 1, 0, flags)), 0);
  }
  for (const uint32_t flags : {uint32_t{HW_BL_SLEEP}, uint32_t{HW_BL_SLEEP}, 0U}) {
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(nullptr, 1, 0, flags)),
                         0);
  }
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 7u);
  CHECK_EQUAL(all.blocks[0].flags, 0u);
  CHECK_EQUAL(all.blocks[1].flags, HW_BL_AGAIN);
  CHECK_EQUAL(all.blocks[2].flags, 0u);
  CHECK_EQUAL(all.blocks[3].flags, HW_BL_AGAIN);
  const Table table = recording.table();
  const hw_lock_slot& sums = table.of(all.blocks[0].blocker_id);
  CHECK_EQUAL(sums.times_parked, 2u);
  CHECK_EQUAL(sums.times_measured, 2u);
  uint64_t waited_ns = 0;
  for (size_t i = 0; i < 4; ++i) waited_ns += static_cast<uint64_t>(all.blocks[i].head.ts_ns - all.blocks[i].start_ns);
  CHECK_EQUAL(sums.thread_time_ns, waited_ns);
  const hw_lock_slot& asleep = table.of(all.blocks[4].blocker_id);
  CHECK_EQUAL(asleep.times_parked, 2u);
  CHECK_EQUAL(asleep.identity_hash, 0u);
  CHECK_EQUAL(table.of(0).times_parked, 1u);  // parks without a blocker
}

void monitors_waited_for_long_at_the_end_have_their_owners(int64_t long_wait_ns, bool is_long) {
  LockRecords::Options options;
  options.long_wait_ns = long_wait_ns;
  Recording recording(options);
  Thing first(1);
  Thing second(2);
  Thing parked(3);
  Thread self;
  const auto begin = [&](Thing& thing, uint16_t kind, uint32_t java_id, uint32_t owner) {
    const LockRecords::Beginning it{kind, &thing, address_of(&thing), thing.hash, class_hash(thing), java_id, owner, 0};
    return recording->wait_begins(self.java, self.locks, it);
  };
  begin(first, HW_BK_MONITOR, 1, 0);
  begin(first, HW_BK_MONITOR, 2, 0);
  begin(second, HW_BK_MONITOR, 3, 0);
  begin(second, HW_BK_WAIT, 4, 0);
  begin(parked, HW_BK_PARK, 5, 99);
  recording->wait_ends(self.locks, begin(second, HW_BK_MONITOR, 6, 0), 0);
  Things::owners_asked_for = 0;
  recording.end();
  CHECK_EQUAL(Things::owners_asked_for.load(), is_long ? 2u : 0u);
  std::array<uint32_t, 7> owners{};
  for (const hw_block& block : recording.spool().blocks) owners.at(block.java_id) = block.owner_java_id;
  const std::array<uint32_t, 7> expected = {0, 1001, 1001, 1002, 0, 99, 0};
  const std::array<uint32_t, 7> of_none = {0, 0, 0, 0, 0, 99, 0};
  CHECK(owners == (is_long ? expected : of_none));
}

void every_block_is_counted_by_one_stack_or_waits_for_the_next() {
  Recording recording;
  Thread thread;
  std::vector<std::unique_ptr<Thing>> things;
  for (uint32_t i = 0; i < 3; ++i) things.push_back(std::make_unique<Thing>(i));
  constexpr uint32_t kBlocks = 20'000;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    const auto begun = recording->wait_begins(thread.java, thread.locks, park(things[i % 3].get(), 1));
    recording->wait_ends(thread.locks, begun, 0);
  }
  recording.end();
  uint64_t weights = 0;
  uint64_t last = 0;
  const Recorded all = recording.spool();
  for (size_t i = 0; i < all.blocks.size(); ++i) {
    weights += all.blocks[i].weight;
    if (all.blocks[i].weight > 0) last = i + 1;
  }
  CHECK_EQUAL(weights, last);
  const int64_t took_ms = (all.blocks.back().head.ts_ns - all.blocks.front().start_ns) / 1'000'000;
  const auto stacks = static_cast<int64_t>(
      std::count_if(all.blocks.begin(), all.blocks.end(), [](const hw_block& b) { return b.stack_id != 0; }));
  CHECK(stacks >= 3 && stacks <= 32 + 256 + took_ms + 1);
}

void nested_waits_end_in_their_order_and_a_waking_is_the_parks() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  Thing monitor{2};
  const auto outer = recording->wait_begins(thread.java, thread.locks, park(&lock, 7));
  LockRecords::Beginning enter = park(&monitor, 7);
  enter.kind = HW_BK_MONITOR;
  const auto inner = recording->wait_begins(thread.java, thread.locks, enter);
  recording->waking(thread.java, thread.locks, 7, 8);
  recording->wait_ends(thread.locks, inner, 0);
  recording->wait_ends(thread.locks, outer, 0);
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 2u);
  CHECK_EQUAL(all.blocks[0].kind, HW_BK_MONITOR);
  CHECK_EQUAL(all.blocks[0].waker_java_id, 0u);
  CHECK_EQUAL(all.blocks[1].kind, HW_BK_PARK);
  CHECK_EQUAL(all.blocks[1].waker_java_id, 8u);
}

void waits_whose_end_nobody_tells_end_by_what_comes_next() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  const auto seen = [&](uint32_t java_id) {
    return recording->wait_begins(thread.java, thread.locks, park(&lock, java_id, 0, HW_BL_ATTACHED));
  };
  CHECK(seen(1) != 0 && seen(2) != 0 && seen(3) != 0);
  recording->waking(thread.java, thread.locks, 1, 9);
  recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, 2)), 0);
  recording->waiter_dies(thread.locks, 3);
  std::vector<Waits::Handle> lost;
  lost.reserve(20);
  for (int i = 0; i < 20; ++i) lost.push_back(recording->wait_begins(thread.java, thread.locks, park(&lock, 4)));
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 4u + 20u);
  for (int i : {0, 1, 3}) {
    const hw_block& block = all.blocks[static_cast<size_t>(i)];
    CHECK_EQUAL(block.flags, HW_BL_ATTACHED | HW_BL_END_GUESSED);
    CHECK_EQUAL(block.stack_id, 0u);
    CHECK_EQUAL(block.head.tid, 0u);
  }
  CHECK_EQUAL(all.blocks[0].waker_java_id, 9u);
  const auto guessed = std::count_if(all.blocks.begin(), all.blocks.end(),
                                     [](const hw_block& block) { return block.flags == HW_BL_END_GUESSED; });
  CHECK_EQUAL(guessed, 20 - static_cast<int>(Waits::kMostNested));
  check_sums_against_blocks(all, recording.table());
}

void who_was_seen_to_wait_and_waits_again_is_one_waiter() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  for (uint32_t java_id : {5U, 4096U}) {  // the second one has no cell
    CHECK(recording->wait_begins(thread.java, thread.locks, park(&lock, java_id, 0, HW_BL_ATTACHED)) != 0);
    for (int i = 0; i < 3; ++i) {
      recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, java_id)), 0);
    }
  }
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 8u);
  const Table table = recording.table();
  CHECK_EQUAL(table.sum(&hw_lock_slot::times_parked), 8u);
  for (const hw_lock_slot& slot : table.slots) CHECK(slot.peak_parked <= 1);
  check_sums_against_blocks(all, table);
}

void a_thread_that_told_of_its_park_is_not_seen_to_park_again() {
  Recording recording;
  Thread thread;
  Thread looks;
  Thing lock{1};
  const auto seen = [&](uint32_t java_id) {
    return recording->wait_begins(looks.java, looks.locks, park(&lock, java_id, 0, HW_BL_ATTACHED));
  };
  const auto told = recording->wait_begins(thread.java, thread.locks, park(&lock, 7));
  CHECK_EQUAL(seen(7), 0u);
  CHECK(seen(7 + 4096) != 0);  // another one, of the same cell
  CHECK(recording->goes_on(told));
  recording->wait_ends(thread.locks, told, 0);
  CHECK(!recording->goes_on(told));
  const auto later = seen(7);
  CHECK(recording->goes_on(later));
  recording->waking(thread.java, thread.locks, 7, 9);
  CHECK(!recording->goes_on(later));
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.blocks.size(), 3u);
  check_sums_against_blocks(all, recording.table());
}

void a_wait_of_an_earlier_recording_ends_in_vain() {
  Waits::Handle old = 0;
  Thread thread;
  Thing lock{1};
  {
    Recording first;
    old = first->wait_begins(thread.java, thread.locks, park(&lock, 1));
  }
  Recording second;
  const auto wait = second->wait_begins(thread.java, thread.locks, park(&lock, 1));
  second->wait_ends(thread.locks, old, 0);
  second->wait_ends(thread.locks, wait, 0);
  second.end();
  CHECK_EQUAL(second->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0u);  // it is over
  CHECK_EQUAL(second.spool().blocks.size(), 1u);
}

void holds_are_recorded_that_began_in_this_recording_on_an_object_that_was_waited_for() {
  const int64_t before = monotonic_ns();
  Recording recording;
  Thread thread;
  Thing lock{1};
  Thing other{2};
  recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0);
  recording->held(thread.java, thread.locks, {&lock, address_of(&lock), lock.hash, 7, before, monotonic_ns()});
  recording->held(thread.java, thread.locks,
                  {&other, address_of(&other), other.hash, 7, monotonic_ns(), monotonic_ns()});
  const int64_t start = monotonic_ns();
  recording->held(thread.java, thread.locks, {&lock, address_of(&lock), lock.hash, 7, start, monotonic_ns()});
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.holds.size(), 1u);
  CHECK_EQUAL(all.holds[0].start_ns, start);
  CHECK_EQUAL(all.holds[0].java_id, 7u);
  CHECK_EQUAL(all.holds[0].blocker_id, all.blockers.at(0).blocker_id);
  const hw_lock_slot slot = recording.table().of(all.blockers[0].blocker_id);
  CHECK_EQUAL(slot.holds, 1u);
  CHECK_EQUAL(slot.hold_ns, static_cast<uint64_t>(all.holds[0].head.ts_ns - start));
}

// The JVM's locks of classes are all of one class: each is met by a name of its own, also where that class is known.
void entered_int_arrays_are_named_by_the_class_they_are_the_lock_of() {
  Recording recording;
  Thread thread;
  Thing first{1, Things::kIntArray};
  Thing second{2, Things::kIntArray};
  Thing of_program{Things::kOfProgram, Things::kIntArray};
  for (Thing* thing : {&first, &second, &of_program, &first}) {
    LockRecords::Beginning it = park(thing, 1);
    it.kind = HW_BK_MONITOR;
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, it), 0);
  }
  recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, park(&first, 1)), 0);
  recording.end();
  const Recorded all = recording.spool();
  const std::vector<std::string> expected = {"class initialisation for C1", "class initialisation for C2", "int[]",
                                             "int[]"};
  CHECK(all.class_names == expected);
  const Table table = recording.table();
  CHECK_EQUAL(table.of(all.blockers[0].blocker_id).times_parked, 2u);
}

void objects_that_stand_for_classes_are_named_by_them_however_they_are_waited_for() {
  Recording recording;
  Thread thread;
  Thing first{1, Things::kClassObjects};
  Thing second{2, Things::kClassObjects};
  Thing other{3};
  for (Thing* thing : {&first, &other, &second, &first}) {
    LockRecords::Beginning it = park(thing, 1);
    it.kind = thing == &second ? HW_BK_PARK : HW_BK_MONITOR;
    recording->wait_ends(thread.locks, recording->wait_begins(thread.java, thread.locks, it), 0);
  }
  recording.end();
  const Recorded all = recording.spool();
  CHECK_EQUAL(all.class_names.size(), 3u);
  CHECK(all.class_names[0] == "test.Named1.class");
  CHECK(all.class_names[1].starts_with("test.Class"));
  CHECK(all.class_names[2] == "test.Named2.class");
  const Table table = recording.table();
  CHECK_EQUAL(table.of(all.blockers[0].blocker_id).times_parked, 2u);
}

void what_comes_on_top_of_a_call_of_the_same_thread_is_not_recorded() {
  Recording recording;
  Thread thread;
  Thing lock{1};
  thread.locks.inside = true;  // as seen from a signal handler
  CHECK_EQUAL(recording->wait_begins(thread.java, thread.locks, park(&lock, 1)), 0u);
  thread.locks.inside = false;
  CHECK(recording->wait_begins(thread.java, thread.locks, park(&lock, 1)) != 0);
}

}  // namespace
}  // namespace headway::agent

int main() {
  using namespace headway::agent;
  a_wait_becomes_a_record_with_its_blocker_its_owner_and_its_waker();
  a_wait_whose_time_is_over_was_ended_then_and_by_nobody();
  objects_of_one_hash_and_uses_of_one_object_are_told_apart();
  parks_of_one_acquisition_are_one_wait_and_sleeps_have_a_row_of_their_own();
  monitors_waited_for_long_at_the_end_have_their_owners(0, true);
  monitors_waited_for_long_at_the_end_have_their_owners(3'600'000'000'000, false);
  every_block_is_counted_by_one_stack_or_waits_for_the_next();
  nested_waits_end_in_their_order_and_a_waking_is_the_parks();
  waits_whose_end_nobody_tells_end_by_what_comes_next();
  who_was_seen_to_wait_and_waits_again_is_one_waiter();
  a_thread_that_told_of_its_park_is_not_seen_to_park_again();
  a_wait_of_an_earlier_recording_ends_in_vain();
  holds_are_recorded_that_began_in_this_recording_on_an_object_that_was_waited_for();
  entered_int_arrays_are_named_by_the_class_they_are_the_lock_of();
  objects_that_stand_for_classes_are_named_by_them_however_they_are_waited_for();
  what_comes_on_top_of_a_call_of_the_same_thread_is_not_recorded();
}
