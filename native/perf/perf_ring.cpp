#include "perf/perf_ring.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "spool/collector_error.h"

namespace headway {
namespace {

constexpr size_t kRingsInTotal = 64U << 20;
constexpr size_t kRingMax = 2U << 20;

constexpr uint64_t kFormatLost = 1U << 4;  // PERF_FORMAT_LOST of Linux 6.0: not in the headers of older distributions

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

int perf_event_open(perf_event_attr* attr, pid_t tid, int cpu) {
  return static_cast<int>(syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr dummy_event() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.sample_id_all = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;  // SampleId
  attr.use_clockid = 1;  // events that share a ring must share the clock
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

}  // namespace

PerfDescriptor::~PerfDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

PerfDescriptor& PerfDescriptor::operator=(PerfDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

PerfDescriptor open_switch_event(pid_t tid, int cpu) {
  perf_event_attr attr = dummy_event();
  attr.context_switch = 1;
  attr.task = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.inherit = 1;
  attr.read_format = kFormatLost;
  int fd = perf_event_open(&attr, tid, cpu);
  if (fd < 0 && errno == EINVAL) {
    attr.read_format = 0;
    fd = perf_event_open(&attr, tid, cpu);
  }
  if (fd < 0) fail("perf_event_open");
  return PerfDescriptor(fd);
}

int64_t lost_by_event(const PerfDescriptor& event) {
  uint64_t value_and_lost[2] = {};
  if (::read(event.get(), value_and_lost, sizeof value_and_lost) != sizeof value_and_lost) return -1;
  return static_cast<int64_t>(value_and_lost[1]);
}

PerfRing::PerfRing(int cpu, size_t bytes) : cpu_(cpu), bytes_(bytes), scratch_(1 << 16) {
  perf_event_attr attr = dummy_event();
  // Wakes the reader once per half ring, never per record: the reader's own switches would be what it records.
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<uint32_t>(bytes / 2);
  owner_ = PerfDescriptor(perf_event_open(&attr, 0, cpu));
  if (owner_.get() < 0) throw CollectorError("open", errno, "CPU " + std::to_string(cpu));
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* map = mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, owner_.get(), 0);
  if (map == MAP_FAILED) throw CollectorError("ring", errno, std::to_string(bytes) + " bytes per CPU");
  map_ = map;
}

PerfRing::~PerfRing() {
  if (map_ != nullptr) munmap(map_, static_cast<size_t>(sysconf(_SC_PAGESIZE)) + bytes_);
}

void PerfRing::redirect(const PerfDescriptor& event) const {
  if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, owner_.get()) != 0) fail("PERF_EVENT_IOC_SET_OUTPUT");
}

size_t PerfRing::bytes_waiting() const {
  auto* page = static_cast<perf_event_mmap_page*>(map_);
  return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) - page->data_tail;
}

size_t PerfRing::drain(const std::function<void(const perf_event_header&)>& handle) {
  auto* page = static_cast<perf_event_mmap_page*>(map_);
  const char* data = static_cast<const char*>(map_) + page->data_offset;
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page->data_tail;
  size_t records = 0;
  while (tail < head) {
    const size_t at = tail & (bytes_ - 1);
    const auto* record = reinterpret_cast<const perf_event_header*>(data + at);  // 8-byte aligned: the head never wraps
    const size_t size = record->size;
    if (at + size > bytes_) {
      memcpy(scratch_.data(), record, bytes_ - at);
      memcpy(scratch_.data() + (bytes_ - at), data, size - (bytes_ - at));
      record = reinterpret_cast<const perf_event_header*>(scratch_.data());
    }
    handle(*record);
    tail += size;
    ++records;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
  return records;
}

// First come, first served would leave the last CPUs without a ring, so the smallest is found that all can have.
size_t fitting_ring_bytes(const std::vector<int>& cpus, size_t wanted) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t bytes = wanted != 0 ? wanted : std::min(kRingMax, kRingsInTotal / cpus.size());
  for (bytes = std::bit_floor(std::max(bytes, page));; bytes /= 2) {
    try {
      std::vector<std::unique_ptr<PerfRing>> rings;
      rings.reserve(cpus.size());
      for (const int cpu : cpus) rings.push_back(std::make_unique<PerfRing>(cpu, bytes));
      return bytes;
    } catch (const CollectorError& error) {
      const bool too_large = error.step() == "ring" && (error.reason() == EPERM || error.reason() == ENOMEM);
      if (wanted != 0 || !too_large || bytes <= 2 * page) throw;
    }
  }
}

}  // namespace headway
