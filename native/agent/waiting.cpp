#include "agent/waiting.h"

namespace headway::agent {
namespace {

// Locks a stripe and returns a free entry of it, 0 if there is none to be had. New entries are made usable outside the
// lock, because that may be a system call.
template <typename Entry, typename Stripe>
uint32_t lock_with_free(Arena<Entry>& entries, std::atomic<uint32_t>& next, Stripe& home, uint32_t block) {
  home.lock.lock();
  for (;;) {
    if (const uint32_t index = home.free) {
      home.free = entries[index].next;
      return index;
    }
    if (home.fresh < home.fresh_end) return home.fresh++;
    home.lock.unlock();
    uint32_t begin = next.load(std::memory_order_relaxed);
    do {
      if (begin + block > entries.capacity()) break;
    } while (!next.compare_exchange_weak(begin, begin + block, std::memory_order_relaxed));
    const bool got = begin + block <= entries.capacity() && entries.make_room(begin + block);
    home.lock.lock();
    if (!got) return 0;
    // Another thread may have brought some meanwhile: then those left of them are lost, a block at most.
    home.fresh = begin;
    home.fresh_end = begin + block;
  }
}

}  // namespace

// --- waits -----------------------------------------------------------------------------------------------------------

bool Waits::reserve(uint32_t recording) noexcept {
  recording_ = recording & 0xFF;
  return entries_.reserve(kMost, kLeast) && buckets_.reserve(kBuckets, kBuckets) && buckets_.make_room(kBuckets);
}

Waits::Handle Waits::handle(uint32_t index) const noexcept {
  const Entry& entry = entries_[index];
  const uint64_t generation = entry.generation % (1U << kGenerationBits);
  const uint64_t upper = uint64_t{recording_} << kGenerationBits | generation;
  return (upper << kStripeBits | entry.wait.java_id % kStripes) << kIndexBits | index;
}

// The entry that the handle names, with its stripe locked; nullptr, with nothing locked, if that wait is over.
Waits::Entry* Waits::lock_current(Handle asked) noexcept {
  const auto index = static_cast<uint32_t>(asked % (1U << kIndexBits));
  if (index == 0 || asked >> (64 - 8) != recording_ || index >= next_.load(std::memory_order_acquire)) return nullptr;
  Stripe& home = stripes_[stripe_of(asked)];
  home.lock.lock();
  if (handle(index) == asked) return &entries_[index];
  home.lock.unlock();
  return nullptr;
}

void Waits::take_out(Stripe& home, uint32_t* link, Wait& wait) noexcept {
  const uint32_t index = *link;
  Entry& entry = entries_[index];
  wait = entry.wait;
  *link = entry.next;
  ++entry.generation;
  entry.next = home.free;
  home.free = index;
  home.waits.store(home.waits.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

// What this wait shows to be over; nullptr: nothing.
uint32_t* Waits::find_over(const Wait& wait) noexcept {
  if (wait.java_id == 0) return nullptr;  // unknown: may be many threads
  uint32_t nested = 0;
  uint32_t* oldest = nullptr;
  for (uint32_t* link = &bucket(wait.java_id); *link != 0; link = &entries_[*link].next) {
    const Wait& other = entries_[*link].wait;
    if (other.java_id != wait.java_id) continue;
    if ((other.flags & HW_BL_ATTACHED) != 0) return link;
    oldest = link;
    ++nested;
  }
  return nested >= kMostNested ? oldest : nullptr;
}

Waits::Handle Waits::begin(const Wait& wait, Wait& over) noexcept {
  over.kind = 0;
  Stripe& home = stripe(wait.java_id);
  const uint32_t index = lock_with_free(entries_, next_, home, kBlock);
  Handle result = 0;
  if (index != 0) {
    Entry& entry = entries_[index];
    if (home.is_closed) {
      entry.next = home.free;
      home.free = index;
    } else {
      if (uint32_t* link = find_over(wait)) take_out(home, link, over);
      entry.wait = wait;
      uint32_t& first = bucket(wait.java_id);
      entry.next = first;
      first = index;
      home.waits.store(home.waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      result = handle(index);
    }
  }
  home.lock.unlock();
  return result;
}

bool Waits::end(Handle handle, Wait& wait) noexcept {
  Entry* entry = lock_current(handle);
  if (entry == nullptr) return false;
  Stripe& home = stripes_[stripe_of(handle)];
  const bool is_ours = !home.is_closed;
  if (is_ours) {
    uint32_t* link = &bucket(entry->wait.java_id);
    while (&entries_[*link] != entry) link = &entries_[*link].next;
    take_out(home, link, wait);
  }
  home.lock.unlock();
  return is_ours;
}

Waits::Handle Waits::wake(uint32_t target, uint32_t waker, int64_t now_ns, Wait& over) noexcept {
  over.kind = 0;
  Stripe& home = stripe(target);
  if (!may_wait(target)) return 0;
  Handle result = 0;
  home.lock.lock();
  for (uint32_t* link = &bucket(target); *link != 0; link = &entries_[*link].next) {
    Wait& wait = entries_[*link].wait;
    if (wait.java_id != target || wait.kind != HW_BK_PARK) continue;
    if (wait.waking_ns == 0) {
      wait.waking_ns = now_ns;
      wait.waker_java_id = waker;
      if ((wait.flags & HW_BL_ATTACHED) != 0 && !home.is_closed) {
        take_out(home, link, over);
      } else {
        result = handle(*link);
      }
    }
    break;
  }
  home.lock.unlock();
  return result;
}

void Waits::set_waker_stack(Handle handle, uint32_t stack_id) noexcept {
  Entry* entry = lock_current(handle);
  if (entry == nullptr) return;
  entry->wait.waker_stack_id = stack_id;
  stripes_[stripe_of(handle)].lock.unlock();
}

bool Waits::take(uint32_t java_id, Wait& wait) noexcept {
  Stripe& home = stripe(java_id);
  if (java_id == 0 || home.waits.load(std::memory_order_relaxed) == 0) return false;
  home.lock.lock();
  uint32_t* link = &bucket(java_id);
  while (*link != 0 && entries_[*link].wait.java_id != java_id) link = &entries_[*link].next;
  const bool found = *link != 0 && !home.is_closed;
  if (found) take_out(home, link, wait);
  home.lock.unlock();
  return found;
}

bool Waits::take_any(Wait& wait) noexcept {
  for (uint32_t s = 0; s < kStripes; ++s) {
    Stripe& home = stripes_[s];
    home.lock.lock();
    const bool any = home.waits.load(std::memory_order_relaxed) != 0;
    for (uint32_t b = s; any && b < kBuckets; b += kStripes) {
      if (buckets_[b] == 0) continue;
      take_out(home, &buckets_[b], wait);
      home.lock.unlock();
      return true;
    }
    home.lock.unlock();
  }
  return false;
}

void Waits::close() noexcept {
  for (Stripe& home : stripes_) {
    home.lock.lock();
    home.is_closed = true;
    home.lock.unlock();
  }
}

uint64_t Waits::count() const noexcept {
  uint64_t all = 0;
  for (const Stripe& home : stripes_) all += home.waits.load(std::memory_order_relaxed);
  return all;
}

// --- holds -----------------------------------------------------------------------------------------------------------

bool Holds::reserve() noexcept {
  return entries_.reserve(kMost, kMost / 16) && buckets_.reserve(kBuckets, kBuckets) && buckets_.make_room(kBuckets);
}

// Under the stripe's lock: the link to the entry, or nullptr. blocker_id 0: any.
uint32_t* Holds::find(uint32_t blocker_id, uint32_t java_id) noexcept {
  for (uint32_t* link = &buckets_[java_id % kBuckets]; *link != 0; link = &entries_[*link].next) {
    const Entry& entry = entries_[*link];
    if (entry.java_id == java_id && (blocker_id == 0 || entry.blocker_id == blocker_id)) return link;
  }
  return nullptr;
}

void Holds::take_out(Stripe& home, uint32_t* link) noexcept {
  const uint32_t index = *link;
  *link = entries_[index].next;
  entries_[index].next = home.free;
  home.free = index;
}

void Holds::begin(uint32_t blocker_id, uint32_t java_id, int64_t now_ns) noexcept {
  Stripe& home = stripes_[java_id % kStripes];
  const uint32_t index = lock_with_free(entries_, next_, home, kBlock);
  if (index != 0) {
    if (uint32_t* link = find(blocker_id, java_id)) take_out(home, link);
    uint32_t& first = buckets_[java_id % kBuckets];
    entries_[index] = {now_ns, blocker_id, java_id, first};
    first = index;
  }
  home.lock.unlock();
}

int64_t Holds::end(uint32_t blocker_id, uint32_t java_id) noexcept {
  Stripe& home = stripes_[java_id % kStripes];
  int64_t start_ns = 0;
  home.lock.lock();
  if (uint32_t* link = find(blocker_id, java_id)) {
    start_ns = entries_[*link].start_ns;
    take_out(home, link);
  }
  home.lock.unlock();
  return start_ns;
}

void Holds::drop(uint32_t java_id) noexcept {
  Stripe& home = stripes_[java_id % kStripes];
  home.lock.lock();
  while (uint32_t* link = find(0, java_id)) take_out(home, link);
  home.lock.unlock();
}

}  // namespace headway::agent
