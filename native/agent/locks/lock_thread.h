// A thread's own state for recording its waits for locks, its place in the spool file included: thread-local.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/core/chunk_file.h"
#include "agent/locks/stack_rhythm.h"

namespace headway::agent {

// How often a thread waited for the objects of short-lived kind that it met last. A table that all threads share would
// cost a cache miss for each new object, which is most of what such a wait costs.
class RecentObjects {
 public:
  // Counts one more wait for the object; how many there were before, as far as is remembered, 3 at most.
  uint32_t count(uint64_t key) noexcept {
    uint64_t& place = seen_[key % seen_.size()];
    if (place >> kCountBits != key) place = key << kCountBits;
    const auto before = static_cast<uint32_t>(place & kMost);
    if (before < kMost) ++place;
    return before;
  }

 private:
  static constexpr uint32_t kCountBits = 2;  // a key has 34
  static constexpr uint32_t kMost = (1U << kCountBits) - 1;
  std::array<uint64_t, 8> seen_{};
};

// What a thread brings along: thread-local. A park needs the first line of the cache and one more.
struct alignas(64) LockThread {
  ThreadSlot place;  // in the file
  // The blocker it last met: where it was, its key, and what it has in the recording that the number names.
  uintptr_t last_address = 0;
  uint32_t last_hash = 0;
  uint32_t last_slot = 0;
  uint32_t last_blocker = 0;
  uint16_t last_recording = 0;
  uint16_t last_kind = 0;
  bool inside = false;  // a call is under way: what a signal handler or callback on top of it does is not recorded
  StackRhythm blocks;
  StackRhythm wakings;
  RecentObjects brief;
};
static_assert(offsetof(LockThread, blocks) == 64);

}  // namespace headway::agent
