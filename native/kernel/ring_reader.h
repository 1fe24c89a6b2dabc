// Reads records out of BPF ring buffers: the consumer's side.
//
// RingReader reads one BPF ring buffer. libbpf has one too, but it calls through a pointer per record and frees the
// ring's space per record; here the loop is inlined and space is freed in steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel/sched_shared.h"

namespace headway {

// Reads one BPF ring buffer that is mapped into this process.
class RingReader {
 public:
  // Maps the ring of map descriptor `fd` (kept by its owner) of `bytes`, a power of two. Throws std::system_error.
  RingReader(int fd, size_t bytes);
  ~RingReader();
  RingReader(RingReader&& other) noexcept;
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;
  RingReader& operator=(RingReader&&) = delete;

  int fd() const { return fd_; }
  size_t filled() const {
    return __atomic_load_n(produced_, __ATOMIC_ACQUIRE) - __atomic_load_n(consumed_, __ATOMIC_RELAXED);
  }

  // Calls take(pointer, bytes) for every record there is by now; stops at one that is still being written.
  template <typename Take>
  void drain(Take take) {
    constexpr uint32_t kBusy = 1u << 31, kDiscarded = 1u << 30;
    constexpr size_t kFreeStep = 32 << 10;
    uint64_t position = __atomic_load_n(consumed_, __ATOMIC_RELAXED), freed = position;
    const uint64_t end = __atomic_load_n(produced_, __ATOMIC_ACQUIRE);
    while (position < end) {
      const char* at = data_ + (position & (bytes_ - 1));
      const uint32_t header = __atomic_load_n(reinterpret_cast<const uint32_t*>(at), __ATOMIC_ACQUIRE);
      if (header & kBusy) break;
      const uint32_t length = header & ~kDiscarded;
      if (!(header & kDiscarded)) take(at + kHeader, size_t{length});
      position += (length + kHeader + 7) / 8 * 8;
      if (position - freed >= kFreeStep) __atomic_store_n(consumed_, freed = position, __ATOMIC_RELEASE);
    }
    __atomic_store_n(consumed_, position, __ATOMIC_RELEASE);
  }

 private:
  static constexpr size_t kHeader = 8;
  int fd_;
  size_t bytes_;
  uint64_t* consumed_;
  const uint64_t* produced_;
  const char* data_;  // mapped twice in a row, so that a record never wraps
};

// CpuRing reads one hw_ring.
class CpuRing {
 public:
  // Maps the array map of descriptor `fd` (kept by its owner), whose ring has `bytes`. Throws std::system_error.
  CpuRing(int fd, size_t bytes);
  ~CpuRing();
  CpuRing(const CpuRing&) = delete;
  CpuRing& operator=(const CpuRing&) = delete;

  hw_ring& shared() { return *ring_; }
  const hw_ring& shared() const { return *ring_; }
  size_t filled() const { return (__atomic_load_n(&ring_->head, __ATOMIC_ACQUIRE) - ring_->tail) * sizeof(hw_u64); }

  // What there is by now: whole records, in two stretches where they wrap. release() makes their room free.
  struct Stretches {
    std::span<const char> first, second;
    size_t bytes() const { return first.size() + second.size(); }
  };
  Stretches available() const;
  void release(const Stretches& read) {
    __atomic_store_n(&ring_->tail, ring_->tail + read.bytes() / sizeof(hw_u64), __ATOMIC_RELEASE);
  }

 private:
  hw_ring* ring_;
  const char* data_;
  size_t bytes_;
};

}  // namespace headway
