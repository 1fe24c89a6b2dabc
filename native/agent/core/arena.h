// An array that grows in place: its elements never move, and what is not used costs address space only.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace headway::agent {

template <typename T>
class Arena {
  static_assert(std::is_trivially_destructible_v<T>, "elements begin as zeroed memory and just go");

 public:
  Arena() = default;
  ~Arena() {
    if (base_ != nullptr) munmap(base_, bytes(capacity_));
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Reserves address space for `count` elements, fewer where it is scarce (ulimit -v), at least `least`.
  bool reserve(uint32_t count, uint32_t least) noexcept {
    for (; count >= least; count /= 2) {
      // Without access, so that it does not count as promised memory where the kernel keeps account of that.
      void* at = mmap(nullptr, bytes(count), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      madvise(at, bytes(count), MADV_NOHUGEPAGE);  // or the first element costs 2 MB
      base_ = static_cast<T*>(at);
      capacity_ = count;
      return true;
    }
    return false;
  }

  uint32_t capacity() const noexcept { return capacity_; }
  uint32_t usable() const noexcept { return usable_.load(std::memory_order_acquire); }

  // Makes the first `count` elements usable; those are zeroed when they are new.
  bool make_room(uint32_t count) noexcept {
    uint32_t usable = usable_.load(std::memory_order_acquire);
    if (count <= usable) return true;
    if (count > capacity_) return false;
    constexpr uint32_t kLeastCount = 64 * 1024 / uint32_t{sizeof(T)};
    // At least twice as much as before, so that it is seldom. Two threads may do the same: no harm.
    const uint32_t wanted = std::min(capacity_, std::max({count, 2 * usable, kLeastCount}));
    if (mprotect(base_, bytes(wanted), PROT_READ | PROT_WRITE) != 0) return false;
    while (usable < wanted && !usable_.compare_exchange_weak(usable, wanted, std::memory_order_acq_rel)) {
    }
    return true;
  }

  T& operator[](uint32_t index) const noexcept { return base_[index]; }

 private:
  static constexpr size_t bytes(uint32_t count) noexcept { return (size_t{count} * sizeof(T) + 4095) / 4096 * 4096; }

  T* base_ = nullptr;
  uint32_t capacity_ = 0;
  std::atomic<uint32_t> usable_{0};
};

}  // namespace headway::agent
