// A hash table that signal handlers read while one thread at a time adds to it. Nothing is taken out.
#pragma once

#include <stdlib.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/core/id_table.h"

namespace headway::agent::causal {

// Keys are not 0. Grows by a new table; the old one stays, since a handler may be in the middle of it (all old ones
// together are as large as the newest).
template <typename Value>
class MethodTable {
 public:
  MethodTable() = default;
  ~MethodTable() {
    for (Places* at = places_.load(std::memory_order_relaxed); at != nullptr;) {
      Places* const smaller = at->smaller;
      free(at->place);
      free(at);
      at = smaller;
    }
  }
  MethodTable(const MethodTable&) = delete;
  MethodTable& operator=(const MethodTable&) = delete;

  // [signal] Null: not known.
  const Value* find(uintptr_t key) const noexcept {
    const Places* places = places_.load(std::memory_order_acquire);
    if (places == nullptr) return nullptr;
    for (size_t at = mix(0, key);; ++at) {
      const Place& place = places->place[at & places->mask];
      const uintptr_t found = place.key.load(std::memory_order_acquire);
      if (found == key) return place.value.load(std::memory_order_acquire);
      if (found == 0) return nullptr;
    }
  }

  // Replaces what the key had. One thread at a time. False: no memory.
  bool put(uintptr_t key, const Value* value) noexcept {
    Places* places = places_.load(std::memory_order_relaxed);
    if (places == nullptr || 2 * (count_ + 1) > places->mask + 1) {
      Places* const larger = enlarged(places);
      if (larger == nullptr) return false;
      places_.store(larger, std::memory_order_release);
      places = larger;
    }
    if (put_into(*places, key, value)) ++count_;
    return true;
  }

  size_t size() const noexcept { return count_; }

 private:
  struct Place {
    std::atomic<uintptr_t> key;
    std::atomic<const Value*> value;
  };
  struct Places {
    size_t mask;
    Place* place;
    Places* smaller;  // the one before it
  };
  static constexpr size_t kLeast = 1024;

  static bool put_into(Places& places, uintptr_t key, const Value* value) noexcept {
    for (size_t at = mix(0, key);; ++at) {
      Place& place = places.place[at & places.mask];
      const uintptr_t found = place.key.load(std::memory_order_relaxed);
      if (found != 0 && found != key) continue;
      place.value.store(value, std::memory_order_release);  // before the key, so that who sees that finds a value
      place.key.store(key, std::memory_order_release);
      return found == 0;
    }
  }

  static Places* enlarged(Places* old) noexcept {
    const size_t count = old == nullptr ? kLeast : 2 * (old->mask + 1);
    auto* places = static_cast<Places*>(malloc(sizeof(Places)));
    auto* place = static_cast<Place*>(calloc(count, sizeof(Place)));
    if (places == nullptr || place == nullptr) {
      free(places);
      free(place);
      return nullptr;
    }
    *places = {count - 1, place, old};
    for (size_t i = 0; old != nullptr && i <= old->mask; ++i) {
      const Place& from = old->place[i];
      if (const uintptr_t key = from.key.load(std::memory_order_relaxed)) {
        put_into(*places, key, from.value.load(std::memory_order_relaxed));
      }
    }
    return places;
  }

  std::atomic<Places*> places_{nullptr};
  size_t count_ = 0;
};

}  // namespace headway::agent::causal
