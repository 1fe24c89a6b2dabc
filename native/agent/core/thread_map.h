// A table by Java thread id, for what a virtual thread is in the middle of: it may go on on another OS thread, so that
// thread-local storage does not do.
#pragma once

#include <stdlib.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <utility>

#include "agent/core/spin.h"

namespace headway::agent {

// Zero-initialised means empty; never destroyed while threads use it. No allocation happens under a lock.
template <typename Value>
class ThreadMap {
 public:
  // Replaces what the thread had. False: no memory.
  bool put(uint32_t java_id, const Value& value) noexcept {
    auto* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) return false;
    free(unlink(java_id));
    Stripe& stripe = stripe_of(java_id);
    const std::lock_guard<SpinLock> guard(stripe.lock);
    Node*& first = stripe.buckets[bucket_of(java_id)];
    *node = {first, value, java_id};
    first = node;
    return true;
  }

  // Takes it out; a Value{} when there is none.
  Value take(uint32_t java_id) noexcept {
    Node* node = unlink(java_id);
    if (node == nullptr) return Value{};
    const Value value = node->value;
    free(node);
    return value;
  }

  void clear() noexcept {
    for (Stripe& stripe : stripes_) {
      for (Node*& bucket : stripe.buckets) {
        Node* node = nullptr;
        {
          const std::lock_guard<SpinLock> guard(stripe.lock);
          node = std::exchange(bucket, nullptr);
        }
        while (node != nullptr) free(std::exchange(node, node->next));
      }
    }
  }

 private:
  struct Node {
    Node* next;
    Value value;
    uint32_t java_id;
  };
  static constexpr uint32_t kStripes = 64;
  static constexpr uint32_t kBuckets = 64;
  struct alignas(64) Stripe {
    SpinLock lock;
    std::array<Node*, kBuckets> buckets{};
  };

  Stripe& stripe_of(uint32_t java_id) noexcept { return stripes_[java_id % kStripes]; }
  static uint32_t bucket_of(uint32_t java_id) noexcept { return java_id / kStripes % kBuckets; }

  Node* unlink(uint32_t java_id) noexcept {
    Stripe& stripe = stripe_of(java_id);
    const std::lock_guard<SpinLock> guard(stripe.lock);
    for (Node** at = &stripe.buckets[bucket_of(java_id)]; *at != nullptr; at = &(*at)->next) {
      if ((*at)->java_id == java_id) return std::exchange(*at, (*at)->next);
    }
    return nullptr;
  }

  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace headway::agent
