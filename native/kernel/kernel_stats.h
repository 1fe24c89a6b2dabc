// What the eBPF collector counts of itself: records by type, losses, and what recording cost.
#pragma once

#include <cstdint>
#include <vector>

namespace headway {

// What a group of counters did on one CPU while it was recorded.
struct CounterGroupTotals {
  int cpu;
  uint32_t group;
  uint64_t enabled_ns;
  uint64_t running_ns;  // of these, on the CPU's counters
};

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
  bool counts_flushed = false;  // counters were read of threads that had a CPU when the recording began and ended
  std::vector<CounterGroupTotals> counter_totals;
};

}  // namespace headway
