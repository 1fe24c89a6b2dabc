// Turns a spool into the columns of the store: lifecycle and agents first, then one pass over the scheduling records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decode/agent_file.h"
#include "decode/cpu_gaps.h"
#include "decode/lifecycle.h"
#include "decode/lock_rows.h"
#include "decode/machine.h"
#include "decode/merge.h"
#include "decode/slices.h"
#include "decode/sweep.h"
#include "decode/transitions.h"

namespace headway {

class Decoder {
 public:
  // Reads lifecycle.spool and agent-*.spool of the directory. Throws std::runtime_error when it can't be listed.
  explicit Decoder(std::string spool_dir);

  const Lifecycle& lifecycle() const { return lifecycle_; }
  const std::vector<AgentFile>& agents() const { return agents_; }
  // Its files() are in the order of agents(). What begin() of it was called before begin() of this gets the kernel's
  // wakings as well.
  Locks& locks() { return *locks_; }
  bool has_sched() const { return !sched_paths_.empty(); }
  // The time of the last record of any source, 0 when there is none: the end of a recording whose recorder died. Reads
  // the whole spool.
  int64_t last_record_ns() const;

  // Starts the pass. kinds[thread_id] is 0..3 (app, gc, jit, vm) or kNotCounted.
  // Slices come in ticks of tick_ns.
  void begin(int64_t start_ns, int64_t end_ns, std::vector<uint8_t> kinds, int64_t bin_ns, int64_t tick_ns,
             size_t max_activity_rows);
  // Decodes until about `rows` slices are there, or the end. Returns false when there is nothing left to come.
  bool next(size_t rows, SliceBatch* slices);

  // After the last next():
  bool is_perf() const { return is_perf_; }
  const Sweep& sweep() const { return *sweep_; }
  const Machine& machine() const { return *machine_; }
  const CpuGaps& cpu_gaps() const { return *cpu_gaps_; }
  const std::vector<LossSpan>& losses() const { return losses_; }
  std::vector<std::string> problems() const;
  uint64_t guesses() const { return transitions_->guesses(); }
  uint64_t late() const;

 private:
  void finish();

  std::string spool_dir_;
  std::vector<std::string> sched_paths_;
  Lifecycle lifecycle_;
  std::vector<AgentFile> agents_;
  std::unique_ptr<Locks> locks_;
  std::vector<LossSpan> losses_;
  bool is_perf_ = false;
  int64_t end_ns_ = 0;
  bool done_ = true;
  SliceBatch slices_;
  std::unique_ptr<Merge> merge_;
  std::unique_ptr<Sweep> sweep_;
  std::unique_ptr<Transitions> transitions_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<CpuGaps> cpu_gaps_;
};

}  // namespace headway
