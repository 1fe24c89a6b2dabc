// Finds the slot of the live table that an object has: by identity hash and kind, made sure by comparing with a weak
// reference. Objects move and are collected; what they are compared with and how is the caller's business, so nothing
// here knows of the JVM.
//
// Finding takes no lock and writes nothing. All but retire() and forget() may be called by any thread, inside a section
// (Sections): a slot that was retired is used again only once all threads have left those they were in.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "agent/core/arena.h"

namespace headway::agent {

// A lock-free table from objects to slots.
class Identity {
 public:
  using Ref = uint64_t;  // a weak reference; 0: none

  bool reserve(uint32_t slots) noexcept {
    return nodes_.reserve(slots, slots) && buckets_.reserve(kBuckets, kBuckets) && buckets_.make_room(kBuckets);
  }

  static uint64_t key(uint32_t hash, uint32_t kind) noexcept { return uint64_t{kind} << 32 | hash; }

  // The slot of the object that `same(ref)` is true for; 0: it has none.
  template <typename Same>
  uint32_t find(uint64_t key, const Same& same) const noexcept {
    return search(bucket(key).load(), key, same);
  }
  // Room for what a slot needs here; before fill().
  bool make_room(uint32_t slot) noexcept { return nodes_.make_room(slot + 1); }
  // Gives `slot`, which no other thread knows, to an object, unless that got one meanwhile. Returns the slot it has.
  template <typename Same>
  uint32_t add(uint32_t slot, uint64_t key, uint32_t blocker_id, Ref ref, const Same& same) noexcept {
    Node& node = nodes_[slot];
    node.key.store(key, std::memory_order_relaxed);
    node.blocker_id.store(blocker_id, std::memory_order_relaxed);
    node.ref.store(ref);
    std::atomic<uint32_t>& head = bucket(key);
    for (uint32_t first = head.load();;) {
      if (const uint32_t other = search(first, key, same)) {
        node.ref.store(0);
        return other;
      }
      node.next.store(first, std::memory_order_relaxed);
      // Others push only here, so the search saw all there is if the head is still the same; and it is the same node,
      // because its slot can't be used again while we are in our section.
      if (head.compare_exchange_strong(first, slot)) return slot;
    }
  }

  uint32_t blocker_id(uint32_t slot) const noexcept { return nodes_[slot].blocker_id.load(std::memory_order_relaxed); }

  // --- one thread at a time: the one that looks for dead objects ---
  Ref ref(uint32_t slot) const noexcept { return nodes_[slot].ref.load(std::memory_order_acquire); }
  // No thread finds the slot from now on; those that are inside a section may still use it and its reference.
  void retire(uint32_t slot) noexcept;
  Ref take_retired_ref(uint32_t slot) const noexcept { return std::exchange(nodes_[slot].retired_ref, 0); }
  uint32_t& next_retired(uint32_t slot) const noexcept { return nodes_[slot].next_retired; }

 private:
  static constexpr uint32_t kBucketBits = 18;  // as many as there are slots at most: a search meets one or two
  static constexpr uint32_t kBuckets = 1U << kBucketBits;

  struct Node {
    std::atomic<Ref> ref;
    std::atomic<uint64_t> key;
    std::atomic<uint32_t> next;
    std::atomic<uint32_t> blocker_id;
    Ref retired_ref;
    uint32_t next_retired;
  };

  template <typename Same>
  bool is(uint32_t slot, uint64_t key, const Same& same) const noexcept {
    const Node& node = nodes_[slot];
    if (node.key.load(std::memory_order_relaxed) != key) return false;
    const Ref ref = node.ref.load();
    return ref != 0 && same(ref);
  }
  template <typename Same>
  uint32_t search(uint32_t slot, uint64_t key, const Same& same) const noexcept {
    for (; slot != 0; slot = nodes_[slot].next.load()) {
      if (is(slot, key, same)) return slot;
    }
    return 0;
  }
  std::atomic<uint32_t>& bucket(uint64_t key) const noexcept {
    return buckets_[static_cast<uint32_t>((key * 0x9E3779B97F4A7C15ULL) >> (64 - kBucketBits))];
  }

  Arena<Node> nodes_;
  Arena<std::atomic<uint32_t>> buckets_;
};

// How often threads blocked on objects that have no slot yet, by their identity hash: for --park-threshold. Fixed in
// size, so an object may lose its count to others and start later; two with one hash (seldom) start sooner.
class EarlyCounts {
 public:
  bool reserve() noexcept { return words_.reserve(kWords, kWords) && words_.make_room(kWords); }

  // Counts one more. True: `threshold` were counted before, so this one is to be measured.
  bool reached(uint64_t key, uint32_t threshold) noexcept;

 private:
  static constexpr uint32_t kWords = 1U << 16;
  static constexpr uint32_t kWays = 4;
  Arena<std::atomic<uint64_t>> words_;  // the mixed key's upper 40 bits, 24 bits of count
};

}  // namespace headway::agent
