#include "agent/locks/waiting.h"

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

Waits::Locked::Locked(Entry& cell) noexcept : cell_(cell), taken_(false) {
  uint32_t was = std::atomic_ref<uint32_t>(cell.next).fetch_or(kLocked, std::memory_order_acquire);
  if ((was & kLocked) != 0) [[unlikely]]
    was = lock_in_the_end();
  taken_ = (was & kTaken) != 0;
}

uint32_t Waits::Locked::lock_in_the_end() noexcept {
  const std::atomic_ref<uint32_t> state(cell_.next);
  Backoff backoff;
  for (;;) {
    while ((state.load(std::memory_order_relaxed) & kLocked) != 0) backoff.pause();
    const uint32_t was = state.fetch_or(kLocked, std::memory_order_acquire);
    if ((was & kLocked) == 0) return was;
  }
}

Waits::Locked::~Locked() {
  std::atomic_ref<uint32_t>(cell_.next).store(taken_ ? kTaken : 0, std::memory_order_release);
}

void Waits::Locked::put(const Wait& wait) noexcept {
  cell_.wait = wait;
  taken_ = true;
}

void Waits::Locked::take_out(Wait& wait) noexcept {
  wait = cell_.wait;
  ++cell_.generation;
  taken_ = false;
}

bool Waits::reserve(uint32_t recording) noexcept {
  recording_ = recording & 0xFF;
  return entries_.reserve(kMost, kLeast) && entries_.make_room(kCells) && buckets_.reserve(kBuckets, kBuckets) &&
         buckets_.make_room(kBuckets);
}

Waits::Handle Waits::handle(uint32_t index) const noexcept {
  const Entry& entry = entries_[index];
  const uint64_t generation = entry.generation % (1U << kGenerationBits);
  const uint64_t upper = uint64_t{recording_} << kGenerationBits | generation;
  return (upper << kStripeBits | entry.wait.java_id % kStripes) << kIndexBits | index;
}

bool Waits::may_name(Handle asked) const noexcept {
  const uint32_t index = index_of(asked);
  return index != 0 && asked >> (64 - 8) == recording_ && index < next_.load(std::memory_order_acquire);
}

// Of what may be a wait of the table: its entry, with its stripe locked; nullptr, with nothing locked, if it is over.
Waits::Entry* Waits::lock_current(Handle asked) noexcept {
  Stripe& home = stripes_[stripe_of(asked)];
  home.lock.lock();
  if (handle(index_of(asked)) == asked) return &entries_[index_of(asked)];
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
  in_table_.fetch_sub(1, std::memory_order_relaxed);
}

// What this wait shows to be over, of those in the table; nullptr: nothing.
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

// A thread's wait goes to its cell only while it has none in the table, so those in the table are the newer ones.
Waits::Handle Waits::begin(const Wait& wait, Wait& over) noexcept {
  over.kind = 0;
  if ((wait.flags & HW_BL_ATTACHED) != 0) has_seen_.store(true, std::memory_order_relaxed);
  if (has_cell(wait.java_id)) {
    const InTable others = some_in_table(wait.java_id) ? in_table(wait.java_id) : InTable{};
    Locked mine(cell(wait.java_id));
    if (is_closed_.load()) return 0;
    if (mine.is_of(wait.java_id)) {
      const bool is_seen = (mine.wait().flags & HW_BL_ATTACHED) != 0;
      if (is_seen || (others.count + 1 >= kMostNested && !others.has_seen)) mine.take_out(over);
    }
    if (!mine.is_taken() && others.count == 0) {
      mine.put(wait);
      return handle(wait.java_id % kCells);
    }
  }
  return begin_in_table(wait, over);
}

bool Waits::take_seen(uint32_t java_id, Wait& wait) noexcept {
  if (java_id == 0 || !has_seen_.load(std::memory_order_relaxed)) return false;
  if (has_cell(java_id) && is_taken(cell(java_id))) {
    Locked mine(cell(java_id));
    if (mine.is_of(java_id) && (mine.wait().flags & HW_BL_ATTACHED) != 0 && !is_closed_.load()) {
      mine.take_out(wait);
      return true;
    }
  }
  return some_in_table(java_id) && take_seen_from_table(java_id, wait);
}

bool Waits::take_seen_from_table(uint32_t java_id, Wait& wait) noexcept {
  Stripe& home = stripe(java_id);
  home.lock.lock();
  uint32_t* link = &bucket(java_id);
  const auto is_it = [java_id](const Wait& it) { return it.java_id == java_id && (it.flags & HW_BL_ATTACHED) != 0; };
  while (*link != 0 && !is_it(entries_[*link].wait)) link = &entries_[*link].next;
  const bool found = *link != 0 && !home.is_closed;
  if (found) take_out(home, link, wait);
  home.lock.unlock();
  return found;
}

Waits::InTable Waits::in_table(uint32_t java_id) noexcept {
  Stripe& home = stripe(java_id);
  InTable found;
  home.lock.lock();
  for (uint32_t at = bucket(java_id); at != 0; at = entries_[at].next) {
    const Wait& wait = entries_[at].wait;
    if (wait.java_id != java_id) continue;
    ++found.count;
    found.has_seen |= (wait.flags & HW_BL_ATTACHED) != 0;
  }
  home.lock.unlock();
  return found;
}

// `over` may have one already: then nothing else is looked for.
Waits::Handle Waits::begin_in_table(const Wait& wait, Wait& over) noexcept {
  Stripe& home = stripe(wait.java_id);
  const uint32_t index = lock_with_free(entries_, next_, home, kBlock);
  Handle result = 0;
  if (index != 0) {
    Entry& entry = entries_[index];
    if (home.is_closed) {
      entry.next = home.free;
      home.free = index;
    } else {
      uint32_t* const link = over.kind == 0 ? find_over(wait) : nullptr;
      if (link != nullptr) take_out(home, link, over);
      entry.wait = wait;
      uint32_t& first = bucket(wait.java_id);
      entry.next = first;
      first = index;
      home.waits.store(home.waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      in_table_.fetch_add(1, std::memory_order_relaxed);
      result = handle(index);
    }
  }
  home.lock.unlock();
  return result;
}

bool Waits::end(Handle asked, Wait& wait) noexcept {
  if (!may_name(asked)) return false;
  const uint32_t index = index_of(asked);
  if (index >= kCells) return end_in_table(asked, wait);
  Locked mine(entries_[index]);
  if (!mine.is_taken() || handle(index) != asked || is_closed_.load()) return false;
  mine.take_out(wait);
  return true;
}

bool Waits::goes_on(Handle asked) noexcept {
  if (!may_name(asked)) return false;
  const uint32_t index = index_of(asked);
  if (index < kCells) {
    const Locked its(entries_[index]);
    return its.is_taken() && handle(index) == asked;
  }
  if (lock_current(asked) == nullptr) return false;
  stripes_[stripe_of(asked)].lock.unlock();
  return true;
}

bool Waits::waits(uint32_t java_id) noexcept {
  if (java_id == 0) return false;
  if (some_in_table(java_id) && in_table(java_id).count != 0) return true;
  if (!has_cell(java_id)) return false;
  const Locked its(cell(java_id));
  return its.is_of(java_id);
}

bool Waits::end_in_table(Handle asked, Wait& wait) noexcept {
  Entry* entry = lock_current(asked);
  if (entry == nullptr) return false;
  Stripe& home = stripes_[stripe_of(asked)];
  const bool is_ours = !home.is_closed;
  if (is_ours) {
    uint32_t* link = &bucket(entry->wait.java_id);
    while (&entries_[*link] != entry) link = &entries_[*link].next;
    take_out(home, link, wait);
  }
  home.lock.unlock();
  return is_ours;
}

Waits::Woken Waits::wake(uint32_t target, uint32_t waker, int64_t now_ns) noexcept {
  Woken woken;
  if (!may_wait(target)) return woken;
  if (some_in_table(target) && wake_in_table(target, waker, now_ns, woken)) return woken;
  if (!has_cell(target)) return woken;
  const Locked its(cell(target));
  if (its.is_of(target) && its.wait().kind == HW_BK_PARK) woken = wake_this(target % kCells, waker, now_ns);
  return woken;
}

// False: no park of the thread is in the table.
bool Waits::wake_in_table(uint32_t target, uint32_t waker, int64_t now_ns, Woken& woken) noexcept {
  Stripe& home = stripe(target);
  home.lock.lock();
  uint32_t at = bucket(target);
  const auto is_its = [&](const Wait& wait) { return wait.java_id == target && wait.kind == HW_BK_PARK; };
  while (at != 0 && !is_its(entries_[at].wait)) at = entries_[at].next;
  if (at != 0) woken = wake_this(at, waker, now_ns);
  home.lock.unlock();
  return at != 0;
}

// With its lock held.
Waits::Woken Waits::wake_this(uint32_t index, uint32_t waker, int64_t now_ns) noexcept {
  Wait& wait = entries_[index].wait;
  if (wait.waking_ns != 0) return {};
  wait.waking_ns = now_ns;
  wait.waker_java_id = waker;
  return {handle(index), (wait.flags & HW_BL_ATTACHED) != 0};
}

void Waits::set_waker_stack(Handle asked, uint32_t stack_id) noexcept {
  if (!may_name(asked)) return;
  const uint32_t index = index_of(asked);
  if (index < kCells) {
    const Locked its(entries_[index]);
    if (its.is_taken() && handle(index) == asked) its.wait().waker_stack_id = stack_id;
    return;
  }
  Entry* entry = lock_current(asked);
  if (entry == nullptr) return;
  entry->wait.waker_stack_id = stack_id;
  stripes_[stripe_of(asked)].lock.unlock();
}

bool Waits::take(uint32_t java_id, Wait& wait) noexcept {
  if (java_id == 0) return false;
  if (some_in_table(java_id) && take_from_table(java_id, wait)) return true;
  if (!has_cell(java_id) || !is_taken(cell(java_id))) return false;
  Locked its(cell(java_id));
  if (!its.is_of(java_id) || is_closed_.load()) return false;
  its.take_out(wait);
  return true;
}

bool Waits::take_from_table(uint32_t java_id, Wait& wait) noexcept {
  Stripe& home = stripe(java_id);
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
  for (uint32_t c = 1; c < kCells; ++c) {
    if (!is_taken(entries_[c])) continue;
    Locked one(entries_[c]);
    if (!one.is_taken()) continue;
    one.take_out(wait);
    return true;
  }
  return false;
}

void Waits::close() noexcept {
  is_closed_.store(true);
  // Who has locked a cell since then sees it; who had locked one before is through when we have had it.
  for (uint32_t c = 1; c < kCells; ++c) const Locked passed(entries_[c]);
  for (Stripe& home : stripes_) {
    home.lock.lock();
    home.is_closed = true;
    home.lock.unlock();
  }
}

uint64_t Waits::count() const noexcept {
  uint64_t all = 0;
  for (const Stripe& home : stripes_) all += home.waits.load(std::memory_order_relaxed);
  for (uint32_t c = 1; c < kCells; ++c) all += is_taken(entries_[c]) ? 1 : 0;
  return all;
}

}  // namespace headway::agent
