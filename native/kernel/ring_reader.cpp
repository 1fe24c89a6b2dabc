#include "kernel/ring_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace headway {
namespace {

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

RingReader::RingReader(int fd, size_t bytes) : fd_(fd), bytes_(bytes) {
  const size_t page = page_bytes();
  void* consumer = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (consumer == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mapping a ring buffer");
  void* producer = mmap(nullptr, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(page));
  if (producer == MAP_FAILED) {
    const int reason = errno;
    munmap(consumer, page);
    throw std::system_error(reason, std::generic_category(), "mapping a ring buffer");
  }
  consumed_ = static_cast<uint64_t*>(consumer);
  produced_ = static_cast<const uint64_t*>(producer);
  data_ = static_cast<const char*>(producer) + page;
}

RingReader::RingReader(RingReader&& other) noexcept
    : fd_(other.fd_),
      bytes_(other.bytes_),
      consumed_(std::exchange(other.consumed_, nullptr)),
      produced_(std::exchange(other.produced_, nullptr)),
      data_(other.data_) {}

RingReader::~RingReader() {
  if (consumed_ == nullptr) return;
  munmap(consumed_, page_bytes());
  munmap(const_cast<uint64_t*>(produced_), page_bytes() + 2 * bytes_);
}

CpuRing::CpuRing(int fd, size_t bytes) : bytes_(bytes) {
  void* mapped = mmap(nullptr, HW_RING_DATA + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mapping a CPU's ring");
  ring_ = static_cast<hw_ring*>(mapped);
  data_ = static_cast<const char*>(mapped) + HW_RING_DATA;
}

CpuRing::~CpuRing() { munmap(ring_, HW_RING_DATA + bytes_); }

CpuRing::Stretches CpuRing::available() const {
  const size_t size = filled();
  const size_t begin = ring_->tail * sizeof(hw_u64) & (bytes_ - 1);
  const size_t first = std::min(size, bytes_ - begin);
  return {{data_ + begin, first}, {data_, size - first}};
}

}  // namespace headway
