#include "agent/locks/identity.h"

namespace headway::agent {

void Identity::retire(uint32_t slot) noexcept {
  Node& node = nodes_[slot];
  std::atomic<uint32_t>& head = bucket(node.key.load(std::memory_order_relaxed));
  const uint32_t next = node.next.load();
  for (;;) {
    uint32_t first = slot;
    if (head.compare_exchange_strong(first, next)) break;
    // Behind another one: only this thread takes any out, so the one before it stays the one before it.
    uint32_t before = first;
    while (before != 0 && nodes_[before].next.load() != slot) before = nodes_[before].next.load();
    if (before == 0) continue;
    nodes_[before].next.store(next);
    break;
  }
  node.retired_ref = node.ref.exchange(0);
}

bool EarlyCounts::reached(uint64_t key, uint32_t threshold) noexcept {
  constexpr uint64_t kCount = (1U << 24) - 1;
  const uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
  const uint64_t tag = mixed & ~kCount;
  const uint32_t set = static_cast<uint32_t>(mixed >> 24) % (kWords / kWays) * kWays;
  for (;;) {
    uint32_t place = set;
    uint64_t seen = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t way = set; way < set + kWays; ++way) {
      const uint64_t word = words_[way].load(std::memory_order_relaxed);
      const bool ours = (word & kCount) != 0 && (word & ~kCount) == tag;
      if (ours || (word & kCount) < least) {
        place = way;
        seen = word;
        least = word & kCount;
      }
      if (ours) break;
    }
    // The one with the fewest makes room: those that go on blocking outlive those that block once.
    const bool ours = (seen & kCount) != 0 && (seen & ~kCount) == tag;
    const uint64_t count = ours ? seen & kCount : 0;
    if (count >= threshold) return true;
    if (words_[place].compare_exchange_weak(seen, tag | (count + 1), std::memory_order_relaxed)) return false;
  }
}

}  // namespace headway::agent
