// Turns a spool into the columns of the store: lifecycle and agents first, then one pass over the scheduling records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decode/agent_file.h"
#include "decode/lock_tables/lock_rows.h"
#include "decode/parallelism/deferred_transitions.h"
#include "decode/parallelism/parallelism_integrator.h"
#include "decode/scheduling/cpu_gaps.h"
#include "decode/scheduling/merge.h"
#include "decode/scheduling/slice_counts.h"
#include "decode/scheduling/thread_state_machine.h"
#include "decode/slices/slices.h"
#include "decode/threads/lifecycle.h"

namespace headway {

// One spool directory and everything that is read of it.
class Decoder {
 public:
  // Reads lifecycle.spool and agent-*.spool of the directory; what agents wrote takes `room_bytes` of memory at most, of
  // which each JVM has its share. Throws std::runtime_error when it can't be listed. `most_lives`: as in read_lifecycle.
  explicit Decoder(std::string spool_dir, uint64_t room_bytes = UINT64_MAX, size_t most_lives = kMostLives);

  const Lifecycle& lifecycle() const { return lifecycle_; }
  const std::vector<AgentFile>& agents() const { return agents_; }
  // Its files() are in the order of agents(). Its begin() comes before begin() of this, which then tells it the
  // kernel's wakings; the other way round it throws.
  Locks& locks() { return *locks_; }
  bool has_sched() const { return !sched_paths_.empty(); }
  // The time of the last record of any source, 0 when there is none: the end of a recording whose recorder died. Reads
  // the whole spool.
  int64_t last_record_ns() const;

  // Starts the pass. kinds[thread_id] is 0..3 (app, gc, jit, vm) or kNotCounted; spans: when one counts as another
  // kind. Slices come in ticks of tick_ns.
  void begin(int64_t start_ns, int64_t end_ns, std::vector<uint8_t> kinds, int64_t bin_ns, int64_t tick_ns,
             size_t max_activity_rows, const std::vector<KindSpan>& spans = {});
  // Decodes until about `rows` slices are there, or the end. Returns false when there is nothing left to come.
  bool next(size_t rows, SliceBatch* slices);

  // After the last next():
  bool is_perf() const { return is_perf_; }
  const ParallelismIntegrator& sweep() const { return *sweep_; }
  const ThreadStateMachine& machine() const { return *machine_; }
  const CpuGaps& cpu_gaps() const { return *cpu_gaps_; }
  // How many counters a slice has counts of, in how many groups.
  SpoolCounters counted() const { return counted_; }
  const std::vector<LossSpan>& losses() const { return losses_; }
  std::vector<std::string> problems() const;
  uint64_t guesses() const { return transitions_->guesses(); }
  uint64_t late() const;

 private:
  void read_agents(uint64_t room_bytes);
  void finish();
  void look_beyond_end(const Event& event);
  // Which files of scheduling records were counted with what others were not, or can't have been.
  std::vector<std::string> counter_problems() const;

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
  std::unique_ptr<ParallelismIntegrator> sweep_;
  std::unique_ptr<DeferredTransitions> transitions_;
  std::unique_ptr<ThreadStateMachine> machine_;
  std::unique_ptr<CpuGaps> cpu_gaps_;
  KernelWakers* wakers_ = nullptr;  // of locks_
  SpoolCounters counted_;
  std::unique_ptr<SliceCounts> counts_;
};

}  // namespace headway
