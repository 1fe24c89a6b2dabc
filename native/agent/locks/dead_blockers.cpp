// The part of LockRecords that runs on the agent's own thread: objects that were collected, and room in the table.
//
// A dead blocker is taken out of Identity at once, but its weak reference and its slot may still be in use by a thread
// that found them just before: they are let go once all threads have left the sections they were in. Then the slot is
// forgotten (--forget-dead, or when room is short): its sums go into those of its class, so totals stay what they were.
#include <algorithm>

#include "agent/core/clock.h"
#include "agent/locks/lock_records.h"

namespace headway::agent {

// Some collectors clear references after they said that they had finished.
constexpr int64_t kLookAnywayNs = 5'000'000'000;

void LockRecords::poll(JavaSide& java, LockThread& thread, uint64_t collections) noexcept {
  looking_.store(true);
  if (!ended_.load()) {
    const int64_t now_ns = monotonic_ns();
    const int64_t since_ns = now_ns - looked_ns_;
    if (options_.park_threshold == 0) find_brief(thread);
    if ((since_ns >= rest_ns_ || table_.short_of_slots()) &&
        (collections != collections_seen_ || since_ns > kLookAnywayNs)) {
      const int64_t cpu_ns = thread_cpu_ns();
      find_dead(java, thread);
      collections_seen_ = collections;
      looked_ns_ = now_ns;
      rest_ns_ = options_.rest_per_look * (thread_cpu_ns() - cpu_ns);
    }
    free_retired(java, thread);
    if (table_.short_of_slots()) forget_some(thread);
    table_.set_updated(now_ns, waits_.count());
    table_.save();
    table_.let_pages_go();
    file_->let_pages_go();
  }
  looking_.store(false);
}

// Objects that a class has thousands of, each waited for once or twice, are recorded together from now on.
void LockRecords::find_brief(LockThread& thread) noexcept {
  for (uint32_t i = 0; i < kKnownClasses; ++i) {
    KnownClass& known = known_classes_[i];
    if (known.ref.load(std::memory_order_acquire) == 0 || known.rest.load(std::memory_order_relaxed) != 0) continue;
    if (known.met.load(std::memory_order_relaxed) < judge_at_[i]) continue;
    judge_at_[i] *= 2;
    const Found rest = is_brief(known.index) ? rest_of(thread, known.index, HW_BK_PARK) : Found{};
    if (rest.slot == 0 || table_.slot_now(rest.slot).class_index != known.index) continue;
    known.rest.store(uint64_t{rest.blocker_id} << 32 | rest.slot, std::memory_order_relaxed);
    const uint32_t count = briefs_.load(std::memory_order_relaxed);
    brief_[count].store(static_cast<uint8_t>(i), std::memory_order_relaxed);
    briefs_.store(count + 1, std::memory_order_release);
  }
}

bool LockRecords::is_brief(uint32_t class_index) const noexcept {
  uint32_t seen = 0;
  uint32_t lasting = 0;
  const uint32_t used = table_.slots();
  for (uint32_t slot = 1; slot < used && !ended_.load(std::memory_order_relaxed); ++slot) {
    const hw_lock_slot now = table_.slot_now(slot);
    if (now.kind != HW_BK_PARK || now.class_index != class_index || now.identity_hash == 0) continue;
    ++seen;
    if (now.times_parked > kMostBriefParks) ++lasting;
  }
  return seen >= kLeastBrief / 2 && lasting <= seen / kOneInLasting;
}

void LockRecords::find_dead(JavaSide& java, LockThread& thread) noexcept {
  const uint32_t used = table_.slots();
  for (uint32_t slot = 1; slot < used && !ended_.load(std::memory_order_relaxed); ++slot) {
    if (!identity_.make_room(slot)) break;
    const Identity::Ref ref = identity_.ref(slot);
    if (ref == 0 || !java.is_collected(ref)) continue;
    identity_.retire(slot);
    table_.mark_dead(slot);
    if (!options_.forget_dead) write_dead(thread, identity_.blocker_id(slot), 0);
    append(retired_, slot);
  }
}

void LockRecords::free_retired(JavaSide& java, LockThread& thread) noexcept {
  constexpr int kRounds = 2;  // one that waited since last time, one that begins now
  for (int round = 0; round < kRounds; ++round) {
    if (leaving_.first == 0) {
      leaving_ = retired_;
      retired_ = {};
      sections_.start_waiting();
    }
    if (leaving_.first == 0 || !sections_.all_left()) return;
    while (const uint32_t slot = take_first(leaving_)) {
      if (const Identity::Ref ref = identity_.take_retired_ref(slot)) java.let_go(ref);
      if (!options_.forget_dead || !forget(thread, slot)) append(dead_, slot);
    }
  }
}

// Room for an eighth of the table, by the blockers that died first.
void LockRecords::forget_some(LockThread& thread) noexcept {
  uint32_t wanted = std::max(table_.max_slots() / 8, 1U);
  for (uint32_t left = dead_.count; left > 0 && wanted > 0; --left) {
    const uint32_t slot = take_first(dead_);
    if (forget(thread, slot)) {
      --wanted;
    } else {
      append(dead_, slot);
    }
  }
}

// The JVM's locks of classes have a name each, and so do objects that stand for classes: with a row for each of these,
// forgetting one would give no room.
uint32_t LockRecords::class_of_rest(uint32_t class_index) noexcept {
  const std::string_view name = table_.class_name_of(class_index);
  if (name.ends_with(kOfClassObject)) return table_.class_index(kClassObject);
  return name.starts_with(kClassLock) ? table_.class_index(kClassLock) : class_index;
}

// False while a thread still seems to block on it.
bool LockRecords::forget(LockThread& thread, uint32_t slot) noexcept {
  const hw_lock_slot dead = table_.slot_now(slot);
  const Found into = rest_of(thread, class_of_rest(dead.class_index), dead.kind);
  if (into.slot == 0 || !table_.fold(slot, into.slot)) return false;
  write_dead(thread, dead.blocker_id, into.blocker_id);
  return true;
}

void LockRecords::append(SlotQueue& queue, uint32_t slot) noexcept {
  identity_.next_retired(slot) = 0;
  if (queue.first == 0) {
    queue.first = slot;
  } else {
    identity_.next_retired(queue.last) = slot;
  }
  queue.last = slot;
  ++queue.count;
}

uint32_t LockRecords::take_first(SlotQueue& queue) noexcept {
  const uint32_t slot = queue.first;
  if (slot == 0) return 0;
  queue.first = identity_.next_retired(slot);
  --queue.count;
  return slot;
}

}  // namespace headway::agent
