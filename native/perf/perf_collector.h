// Records scheduling as an ordinary user: PERF_RECORD_SWITCH of every thread of a process tree, from outside the
// program.
//
// What it can see: each switch-in and switch-out with its CPU, and whether the thread wanted to go on (preempted);
// births, exits, names. What it can't: wake-ups, so neither the moment a blocked thread becomes runnable nor its waker;
// executed time per interval. The kernel's own totals per thread (hw_schedstat) are added about once a second.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "perf/perf_ring.h"
#include "spool/spool_writer.h"

namespace headway {

struct PerfStats {
  uint64_t switches = 0;  // records in the sched files
  uint64_t lifecycle = 0;
  uint64_t lost = 0;             // not written by the kernel, the ring being full
  uint64_t unwritten = 0;        // not written to the disk
  uint64_t bytes = 0;            // in the spool files
  uint64_t drains = 0;           // times the rings were emptied
  uint64_t consumer_cpu_ns = 0;  // CPU time of the drain thread
  uint64_t threads_opened = 0;   // threads that ran already and got events of their own
  uint64_t totals_read = 0;      // hw_schedstat records
  uint64_t ring_bytes = 0;       // of one CPU's ring
  int64_t disk_error_ns = 0;     // when it first did
  int disk_error = 0;            // why the disk refused, or 0
  int64_t written_until_ns = 0;  // every record of before is in the spool: after a disk error, where the recording ends
};

// One recording by perf events, from the first process to closing the spool.
class PerfCollector {
 public:
  // Maps one ring per CPU and creates the spool files. `ring_bytes` is per CPU and rounded down to a power of two; 0
  // takes the largest that this user's locked memory allows, within reason. Throws CollectorError: steps "open",
  // "ring", "spool".
  explicit PerfCollector(std::string spool_dir, size_t ring_bytes = 0, int drain_ms = 40);
  ~PerfCollector();
  PerfCollector(const PerfCollector&) = delete;
  PerfCollector& operator=(const PerfCollector&) = delete;

  // Follows `pid`, its threads and all that they will create, from now on; may be called before or after start().
  // Throws CollectorError: steps "process" (gone, not ours), "open" (not allowed), "files" (too few file descriptors).
  void add_process(pid_t pid);

  // The same for a process that runs already, and for all its descendants.
  void snapshot_process(pid_t pid);

  void start();
  PerfStats stats() const;
  PerfStats stop();  // takes what is left, closes the events and the files; may be called twice

 private:
  struct Identity {  // what two reports of one happening have in common
    uint64_t kind = 0;
    uint32_t tid = 0;
    uint32_t subject = 0;
    char name[HW_COMM_BYTES] = {};
    bool operator==(const Identity&) const = default;
  };
  struct CpuState {
    CpuState(const std::string& dir, int cpu, size_t bytes);
    PerfRing ring;
    SpoolWriter spool;
    int64_t last_ns = 0;  // time of the last record, 0 before the first
    Identity last;        // a second event on one thread repeats the record
    uint64_t lost = 0;
  };
  struct LifeRecord {  // PERF_RECORD_FORK, EXIT or COMM
    int64_t ts_ns;
    uint32_t type;
    uint32_t pid, tid;
    uint32_t parent_pid, parent_tid;
    bool is_exec;
    char comm[HW_COMM_BYTES];
  };
  struct Known {
    pid_t pid;
    char comm[HW_COMM_BYTES];
  };

  bool open_thread(pid_t pid, pid_t tid);  // false: gone meanwhile
  bool is_known(pid_t pid);                // by a snapshot, or by a record of its birth
  void run();
  // Empties the rings and acts on births, exits and names until `settled_ns`: what comes later may still be overtaken
  // by records of another CPU that are not there yet.
  void drain_once(int64_t settled_ns);
  void handle(CpuState& cpu, const perf_event_header& record);
  void on_switch(CpuState& cpu, const perf_event_header& record, const SampleId& id);
  void on_exit_switch(CpuState& cpu, const LifeRecord& record);
  void on_fork(const LifeRecord& record);
  void on_exit(const LifeRecord& record);
  void on_comm(const LifeRecord& record);
  void on_lost(CpuState& cpu, uint64_t events, int64_t until_ns);
  void learn(uint32_t tid, const Known& thread);
  void forget(uint32_t tid);
  void reconcile_with_proc();
  void add_snapshot(pid_t pid, pid_t tid);
  void exec_replaces_threads(pid_t pid, hw_exec* exec);
  void read_totals();
  // What runs on a CPU that came online after the start is in no ring, which is a loss until the end.
  void note_late_cpus(int64_t now_ns);
  void find_trailing_losses();
  void write_lifecycle();
  void flush_all();

  template <typename Record>
  void lifecycle(const Record& record) {  // write_lifecycle() writes it
    const char* bytes = reinterpret_cast<const char*>(&record);
    lifecycle_batch_.emplace_back(record.head.ts_ns, std::vector<char>(bytes, bytes + sizeof record));
  }

  const std::string dir_;
  const int drain_ms_;
  mutable std::mutex mutex_;  // everything below but the thread; the drain holds it, as does add_process
  std::vector<std::unique_ptr<CpuState>> cpus_;
  std::unique_ptr<SpoolWriter> lifecycle_;
  std::vector<LifeRecord> life_;                                        // taken from the rings, not settled yet
  std::vector<std::pair<int64_t, std::vector<char>>> lifecycle_batch_;  // of one drain, put in order of time
  std::unordered_map<uint32_t, Known> known_;                           // living threads
  std::unordered_set<uint32_t> opened_;                                 // threads that have events of their own
  std::unordered_map<pid_t, size_t> threads_of_;                        // living processes of the tree, threads known
  std::vector<std::pair<size_t, PerfDescriptor>> events_;               // index into cpus_, event
  bool lost_since_reconciled_ = false;
  bool any_loss_ = false;
  int64_t next_totals_ns_ = 0;
  int64_t cpus_looked_at_ns_ = 0;  // when those that are online were last those at the start
  std::set<int> late_cpus_;
  int64_t last_flush_ns_ = 0;
  int64_t drained_until_ns_ = 0;  // every record of before has been taken from the rings
  PerfStats stats_;
  bool stopped_ = false;
  std::atomic<bool> quit_{false};
  PerfDescriptor wake_;  // an eventfd: stop() ends the drain's sleep
  std::thread thread_;
};

}  // namespace headway
