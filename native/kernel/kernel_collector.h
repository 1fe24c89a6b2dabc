// Records the scheduling of a set of processes by eBPF into a spool (native/wire/records.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counters/event.h"
#include "kernel/kernel_stats.h"

namespace headway {

// One recording by eBPF, from loading the programs to closing the spool.
class KernelCollector {
 public:
  // Loads the programs. `ring_bytes` is per CPU, rounded up to a power of two; 0 chooses by the number of CPUs.
  // `force_raw` skips tp_btf (for tests). Throws CollectorError with step "btf", "load", "lockdown", "ring" or
  // "pid-namespace". `counters`: groups that each switch is to read, with step "counter" when one can't be had.
  explicit KernelCollector(std::string spool_dir, size_t ring_bytes = 0, bool force_raw = false,
                           std::vector<CounterGroup> counters = {});
  ~KernelCollector();
  KernelCollector(const KernelCollector&) = delete;
  KernelCollector& operator=(const KernelCollector&) = delete;

  // Records the process `pid` from now on, or from start() on, and whatever it forks from then on. Its present threads
  // get snapshot records (at start() when that is still to come). Throws CollectorError with step "process".
  void add_process(pid_t pid);

  // For a process that runs already: add_process for it and all its descendants.
  void snapshot_process(pid_t pid);

  // Creates the spool files and attaches. Throws CollectorError with step "spool" or "attach".
  void start();

  KernelStats stats() const;

  // Detaches, drains, closes the files; later calls return the same figures.
  KernelStats stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headway
