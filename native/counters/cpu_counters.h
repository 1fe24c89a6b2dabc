// Groups of performance events that are open on every CPU, for programs that read them there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "counters/event.h"

namespace headway {

class CpuCounters {
 public:
  // Opens and starts them. Throws CollectorError with step "counter", and the event's name and CPU in its detail.
  CpuCounters(std::vector<CounterGroup> groups, std::vector<int> cpus);
  ~CpuCounters();
  CpuCounters(const CpuCounters&) = delete;
  CpuCounters& operator=(const CpuCounters&) = delete;

  uint32_t counters() const { return counters_; }
  uint32_t groups() const { return static_cast<uint32_t>(groups_.size()); }
  const std::vector<int>& cpus() const { return cpus_; }
  // Counters are numbered over all groups.
  bool begins_group(uint32_t counter) const { return begins_[counter]; }
  int fd(uint32_t counter, size_t cpu_index) const { return fds_[counter * cpus_.size() + cpu_index]; }

  // What a counter has counted on a CPU by now; false when it can't be read any more.
  bool totals(uint32_t counter, size_t cpu_index, EventTotals* totals) const {
    return read_event(fd(counter, cpu_index), totals);
  }

 private:
  void open_on(size_t cpu_index);
  void close_all();

  std::vector<CounterGroup> groups_;
  std::vector<int> cpus_;
  uint32_t counters_ = 0;
  std::vector<bool> begins_;
  std::vector<int> fds_;
};

}  // namespace headway
