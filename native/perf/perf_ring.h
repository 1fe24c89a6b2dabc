// perf events as headway uses them: what is asked of the kernel, and one CPU's ring of records.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace headway {

// A perf event's descriptor, closed when it goes out of scope.
class PerfDescriptor {
 public:
  explicit PerfDescriptor(int fd = -1) : fd_(fd) {}
  ~PerfDescriptor();
  PerfDescriptor(PerfDescriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  PerfDescriptor& operator=(PerfDescriptor&& other) noexcept;
  PerfDescriptor(const PerfDescriptor&) = delete;
  PerfDescriptor& operator=(const PerfDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Opens the event that reports the switches, forks, exits and names of thread `tid`, and of what it will create, while
// on `cpu`. A software dummy event that leaves the kernel's own work out: perf_event_paranoid 2 allows it to everyone
// for programs of one's own. Throws std::system_error.
PerfDescriptor open_switch_event(pid_t tid, int cpu);

// Records lost by this event so far, as the kernel counts them (Linux 6.0 and later); -1 where it does not.
int64_t lost_by_event(const PerfDescriptor& event);

// What every record of open_switch_event() ends with (sample_id_all).
struct SampleId {
  uint32_t pid;
  uint32_t tid;
  uint64_t time;
  uint32_t cpu;
  uint32_t reserved;
};

// The ring of one CPU. It belongs to a silent event on headway itself, so that it outlives every thread of the program;
// the events of the program's threads are redirected into it.
class PerfRing {
 public:
  // `bytes` is a power of two, at least a page. Throws CollectorError: "open", or "ring", EPERM: more locked memory
  // than this user may have (perf_event_mlock_kb per CPU and user, then RLIMIT_MEMLOCK).
  PerfRing(int cpu, size_t bytes);
  ~PerfRing();
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;

  void redirect(const PerfDescriptor& event) const;  // throws std::system_error

  // Calls `handle` for each complete record and gives its room back. Returns the number of records.
  size_t drain(const std::function<void(const perf_event_header&)>& handle);

  int fd() const { return owner_.get(); }
  int cpu() const { return cpu_; }
  size_t bytes() const { return bytes_; }
  size_t bytes_waiting() const;

 private:
  int cpu_;
  size_t bytes_;
  PerfDescriptor owner_;
  void* map_ = nullptr;
  std::vector<char> scratch_;  // a record that wraps around the ring's end is put together here
};

// The size of ring that every one of `cpus` can have at once, tried for real: `wanted` rounded down to a power of two
// or, when it is 0, the largest that this user's locked memory allows, within reason. Throws CollectorError: "open",
// "ring".
size_t fitting_ring_bytes(const std::vector<int>& cpus, size_t wanted);

}  // namespace headway
