// Records the scheduling of a set of processes by eBPF into a spool (native/wire/records.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace headway {

struct KernelStats {
  uint64_t switches = 0;  // records taken, by type
  uint64_t wakings = 0;
  uint64_t lifecycle = 0;  // births, execs, renames, exits and snapshots
  uint64_t lost = 0;       // records that found a ring full; each is inside a hw_loss record
  uint64_t missed = 0;     // events on which the kernel skipped a program because it was running on that CPU already
  uint64_t bytes = 0;      // written to the spool
  uint64_t unwritten_bytes = 0;  // records in the rings: not written yet, or, after a disk error, never
  int disk_error = 0;            // errno of the first write that failed; recording has stopped then
  int64_t disk_error_ns = 0;
  int64_t written_until_ns = 0;  // every record of before is in the spool: after a disk error, where the recording ends
  uint64_t consumer_cpu_ns = 0;  // CPU time of the threads that drain the rings
  uint64_t early_wakes = 0;      // times a ring was half full before its turn
  uint64_t ring_bytes = 0;       // per CPU
  uint64_t ring_peak_bytes = 0;  // the fullest a ring was found
  bool typed_programs = false;   // tp_btf; else raw_tp
  bool irq_context_known = false;
};

class KernelCollector {
 public:
  // Loads the programs. `ring_bytes` is per CPU, rounded up to a power of two; 0 chooses by the number of CPUs.
  // `force_raw` skips tp_btf (for tests). Throws CollectorError with step "btf", "load", "lockdown", "ring" or
  // "pid-namespace".
  explicit KernelCollector(std::string spool_dir, size_t ring_bytes = 0, bool force_raw = false);
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
