// Lock-free tables of bounded size that number things by their hash, for threads that must not wait for one another.
//
// An entry is one word: the upper 40 bits of the hash and an id of 24 bits. Its place comes from the lower bits, so two
// things are taken for one when about 55 bits of their hashes agree: with 65,536 stacks once in ten million recordings.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headway::agent {

constexpr uint32_t kMaxTableId = (1U << 24) - 1;

// Mixes a further value into a hash; every bit of the result depends on every bit of both (a folded 128-bit product).
inline uint64_t mix(uint64_t hash, uint64_t value) {
  const auto product = static_cast<unsigned __int128>(hash ^ 0x9E3779B97F4A7C15ULL) * (value ^ 0xD6E8FEB86659FD93ULL);
  const auto folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return (folded ^ folded >> 29) * 0xBF58476D1CE4E5B9ULL + hash;
}

// The same of a text.
uint64_t mix(uint64_t hash, std::string_view text) noexcept;

// Remembers what was last seen; older entries make room.
class IdCache {
 public:
  uint32_t find(uint64_t hash) const noexcept;  // 0: not known
  void put(uint64_t hash, uint32_t id) noexcept;
  void clear() noexcept;

  static constexpr size_t kPlaces = size_t{1} << 14;

 private:
  static constexpr size_t kWindow = 8;

  std::array<std::atomic<uint64_t>, kPlaces> words_{};
};

// Keeps every entry until it is full. Filled tier by tier, so that few entries touch few pages.
class IdTable {
 public:
  uint32_t find(uint64_t hash) const noexcept;  // 0: not known
  // Returns the id that `hash` has from now on: `id`, or the one another thread gave it first. 0: no room.
  uint32_t put(uint64_t hash, uint32_t id) noexcept;
  void clear() noexcept;

 private:
  static constexpr size_t kWindow = 16;
  static constexpr std::array<size_t, 4> kTiers = {size_t{1} << 10, size_t{1} << 12, size_t{1} << 14, size_t{1} << 17};
  static constexpr size_t kPlaces = kTiers[0] + kTiers[1] + kTiers[2] + kTiers[3];

  std::array<std::atomic<uint64_t>, kPlaces> words_{};
};

// Gives things numbers from 1 on, 65,535 of them at most.
class IdNumbers {
 public:
  struct Number {
    uint32_t id = 0;      // 0: there are too many
    bool is_new = false;  // the caller's to tell of
  };

  // The number that the thing of a hash has, or has from now on.
  Number of(uint64_t hash) noexcept;
  void clear() noexcept;

 private:
  static constexpr uint32_t kMostIds = 65535;

  IdTable ids_;
  std::atomic<uint32_t> last_{0};
};

}  // namespace headway::agent
