#include "perf/perf_collector.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

#include "spool/collector_error.h"
#include "spool/proc_tasks.h"

namespace headway {
namespace {

constexpr int64_t kTotalsEveryNs = 1'000'000'000;
constexpr int64_t kTotalsShare = 300;  // reading totals may take one part in this of the time
constexpr int64_t kFlushEveryNs = 200'000'000;
constexpr int64_t kSettledNs = 1'000'000;  // a record is in its ring long before it is so old
constexpr int kAttachRounds = 20;
constexpr int kNice = 5;

// Not in older headers.
constexpr uint32_t kRecordSwitch = 14;
constexpr uint16_t kSwitchOut = 1U << 13;
constexpr uint16_t kSwitchOutPreempt = 1U << 14;
constexpr uint16_t kCommExec = 1U << 13;

struct TaskRecord {  // PERF_RECORD_FORK and PERF_RECORD_EXIT
  perf_event_header header;
  uint32_t pid, ppid, tid, ptid;
  uint64_t time;
};
struct CommRecord {
  perf_event_header header;
  uint32_t pid, tid;
  char comm[];
};
struct LostRecord {
  perf_event_header header;
  uint64_t id, lost;
};

void be_modest() {
  // The program's threads go first: this one only has to be back before a ring is full.
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  if (getpriority(PRIO_PROCESS, self) < kNice) setpriority(PRIO_PROCESS, self, kNice);
  sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

uint64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void allow_more_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

PerfCollector::CpuState::CpuState(const std::string& dir, int cpu, size_t bytes)
    : ring(cpu, bytes),
      spool(dir, "sched-cpu" + std::to_string(cpu) + ".spool", HW_SOURCE_SCHED, HW_PRODUCER_PERF_SWITCH,
            static_cast<uint32_t>(cpu), 512 << 10) {}

PerfCollector::PerfCollector(std::string spool_dir, size_t ring_bytes, int drain_ms)
    : dir_(std::move(spool_dir)), drain_ms_(drain_ms), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const std::vector<int> cpus = online_cpus();
  const size_t bytes = fitting_ring_bytes(cpus, ring_bytes);
  try {
    for (const int cpu : cpus) cpus_.push_back(std::make_unique<CpuState>(dir_, cpu, bytes));
    lifecycle_ = std::make_unique<SpoolWriter>(dir_, "lifecycle.spool", HW_SOURCE_LIFECYCLE, HW_PRODUCER_PERF_SWITCH);
  } catch (const CollectorError&) {
    throw;
  } catch (const std::system_error& error) {
    throw CollectorError("spool", error.code().value(), error.what());
  }
  stats_.ring_bytes = bytes;
  stats_.written_until_ns = drained_until_ns_ = monotonic_ns();
}

PerfCollector::~PerfCollector() { stop(); }

void PerfCollector::start() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void PerfCollector::add_process(pid_t pid) {
  std::vector<pid_t> tids = list_threads(pid);
  if (tids.empty()) throw CollectorError("process", ESRCH, std::to_string(pid));
  const std::lock_guard<std::mutex> lock(mutex_);
  // Threads may be born meanwhile, by parents that had their events already or not yet. Who is found in a later round
  // gets events too, be it for the second time: what two events of one thread report twice, handle() drops.
  bool any = false;
  for (int round = 0; round < kAttachRounds && !tids.empty(); ++round) {
    std::vector<pid_t> fresh;
    for (const pid_t tid : tids) {
      if (opened_.insert(static_cast<uint32_t>(tid)).second) fresh.push_back(tid);
    }
    if (fresh.empty()) break;
    for (const pid_t tid : fresh) {
      any = open_thread(pid, tid) || any;
    }
    drain_once(
        INT64_MAX);  // who was born under events that were there already is known by its fork, and needs no snapshot
    for (const pid_t tid : fresh) {
      if (!known_.contains(static_cast<uint32_t>(tid))) add_snapshot(pid, tid);
    }
    tids = list_threads(pid);
  }
  if (!any) throw CollectorError("process", ESRCH, std::to_string(pid));
  write_lifecycle();
}

void PerfCollector::snapshot_process(pid_t pid) {
  add_process(pid);
  // Who forks after its threads have their events hands them on, so once a whole pass finds nobody new, nobody is left
  // out. Ourselves we leave out: a shell may well record itself.
  std::unordered_set<pid_t> seen{pid, getpid()};
  for (bool grown = true; grown;) {
    grown = false;
    for (const pid_t descendant : list_descendants(pid)) {
      if (!seen.insert(descendant).second) continue;
      grown = true;
      try {
        add_process(descendant);
      } catch (const CollectorError& error) {
        if (error.reason() != ESRCH) throw;  // it may end at any moment
      }
    }
  }
}

bool PerfCollector::open_thread(pid_t pid, pid_t tid) {
  std::vector<FileDescriptor> opened;
  for (size_t i = 0; i < cpus_.size(); ++i) {
    for (int attempt = 0;; ++attempt) {
      try {
        opened.push_back(open_switch_event(tid, cpus_[i]->ring.cpu()));
        cpus_[i]->ring.redirect(opened.back());
        break;
      } catch (const std::system_error& error) {
        const int reason = error.code().value();
        if (reason == ESRCH) return false;
        if (reason == EMFILE && attempt == 0) {
          allow_more_files();
          continue;
        }
        const std::string whose = "process " + std::to_string(pid) + ", thread " + std::to_string(tid);
        throw CollectorError(reason == EMFILE || reason == ENFILE ? "files" : "open", reason, whose);
      }
    }
  }
  for (size_t i = 0; i < opened.size(); ++i) events_.emplace_back(i, std::move(opened[i]));
  ++stats_.threads_opened;
  return true;
}

void PerfCollector::add_snapshot(pid_t pid, pid_t tid) {
  const auto snapshot = read_snapshot(pid, tid);
  if (!snapshot) return;
  Known known{pid, {}};
  memcpy(known.comm, snapshot->comm, HW_COMM_BYTES);
  learn(snapshot->head.tid, known);
  lifecycle(*snapshot);
  if (const auto totals = read_schedstat(pid, tid)) lifecycle(*totals);  // what comes later counts from here
}

template <typename Record>
void PerfCollector::lifecycle(const Record& record) {
  const char* bytes = reinterpret_cast<const char*>(&record);
  lifecycle_batch_.emplace_back(record.head.ts_ns, std::vector<char>(bytes, bytes + sizeof record));
}

void PerfCollector::write_lifecycle() {
  std::stable_sort(lifecycle_batch_.begin(), lifecycle_batch_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [when, bytes] : lifecycle_batch_) lifecycle_->append_bytes(bytes.data(), bytes.size());
  stats_.lifecycle += lifecycle_batch_.size();
  lifecycle_batch_.clear();
}

void PerfCollector::run() {
  be_modest();
  std::vector<pollfd> waits;
  for (const auto& cpu : cpus_) waits.push_back({cpu->ring.fd(), POLLIN, 0});
  waits.push_back({wake_.get(), POLLIN, 0});
  while (!quit_.load()) {
    poll(waits.data(), waits.size(), drain_ms_);
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t now = monotonic_ns();
    drain_once(now - kSettledNs);
    drained_until_ns_ = now - kSettledNs;
    if (now >= next_totals_ns_) {
      read_totals();
      const int64_t took = monotonic_ns() - now;
      next_totals_ns_ = now + std::max(kTotalsEveryNs, took * kTotalsShare);
    }
    if (now - last_flush_ns_ >= kFlushEveryNs) {
      flush_all();
      last_flush_ns_ = now;
    }
    stats_.consumer_cpu_ns = thread_cpu_ns();
  }
}

void PerfCollector::drain_once(int64_t settled_ns) {
  for (const auto& cpu : cpus_) {
    cpu->ring.drain([&](const perf_event_header& record) { handle(*cpu, record); });
  }
  std::stable_sort(life_.begin(), life_.end(),
                   [](const LifeRecord& a, const LifeRecord& b) { return a.ts_ns < b.ts_ns; });
  size_t done = 0;
  for (; done < life_.size() && life_[done].ts_ns <= settled_ns; ++done) {
    const LifeRecord& record = life_[done];
    if (record.type == PERF_RECORD_FORK) {
      on_fork(record);
    } else if (record.type == PERF_RECORD_EXIT) {
      on_exit(record);
    } else {
      on_comm(record);
    }
  }
  life_.erase(life_.begin(), life_.begin() + static_cast<ptrdiff_t>(done));
  if (lost_since_reconciled_) reconcile_with_proc();
  write_lifecycle();
  ++stats_.drains;
}

void PerfCollector::handle(CpuState& cpu, const perf_event_header& record) {
  SampleId id{};
  const size_t body = record.size - sizeof id;
  const char* bytes = reinterpret_cast<const char*>(&record);
  memcpy(&id, bytes + body, sizeof id);
  if (record.type == PERF_RECORD_LOST) {
    cpu.last = {};
    on_lost(cpu, reinterpret_cast<const LostRecord&>(record).lost, static_cast<int64_t>(id.time));
    cpu.last_ns = static_cast<int64_t>(id.time);
    return;
  }
  cpu.last_ns = static_cast<int64_t>(id.time);
  Identity identity{uint64_t{record.type} << 16 | record.misc, id.tid, 0, {}};
  LifeRecord life{static_cast<int64_t>(id.time), record.type, 0, 0, 0, 0, false, {}};
  if (record.type == PERF_RECORD_FORK || record.type == PERF_RECORD_EXIT) {
    const auto& task = reinterpret_cast<const TaskRecord&>(record);
    life.ts_ns = static_cast<int64_t>(task.time);
    life.pid = task.pid;
    life.tid = identity.subject = task.tid;
    life.parent_pid = task.ppid;
    life.parent_tid = task.ptid;
  } else if (record.type == PERF_RECORD_COMM) {
    const auto& comm = reinterpret_cast<const CommRecord&>(record);
    life.pid = comm.pid;
    life.tid = comm.tid;
    life.is_exec = (record.misc & kCommExec) != 0;
    strncpy(life.comm, comm.comm, HW_COMM_BYTES - 1);
    memcpy(identity.name, life.comm, HW_COMM_BYTES);
  } else if (record.type != kRecordSwitch) {
    return;
  }
  if (identity == cpu.last) return;
  cpu.last = identity;
  if (record.type == kRecordSwitch) return on_switch(cpu, record, id);
  if (record.type == PERF_RECORD_EXIT) on_exit_switch(cpu, life);
  life_.push_back(life);
}

void PerfCollector::on_switch(CpuState& cpu, const perf_event_header& record, const SampleId& id) {
  const bool out = (record.misc & kSwitchOut) != 0;
  hw_switch written{};
  written.head = {static_cast<hw_i64>(id.time), HW_SWITCH, sizeof written, out ? id.tid : 0};
  written.flags = HW_SW_NO_EXEC | (out ? HW_SW_PREV_OURS : HW_SW_NEXT_OURS);
  written.next_tid = out ? 0 : id.tid;
  if (out && (record.misc & kSwitchOutPreempt) != 0) {
    written.flags |= HW_SW_PREEMPT;
  } else if (out) {
    written.prev_state = 1;  // asleep in some way: which one is not told
  }
  cpu.spool.append(written);
  ++stats_.switches;
  // After a loss, a thread may turn up whose birth is not on record.
  if (any_loss_ && !known_.contains(id.tid)) {
    threads_of_.try_emplace(static_cast<pid_t>(id.pid), 0);
    lost_since_reconciled_ = true;
  }
}

// The kernel takes the events off a thread that exits before its last switch-out, so its running ends here.
void PerfCollector::on_exit_switch(CpuState& cpu, const LifeRecord& record) {
  hw_switch last{};
  last.head = {record.ts_ns, HW_SWITCH, sizeof last, record.tid};
  last.flags = HW_SW_NO_EXEC | HW_SW_PREV_OURS;
  last.prev_state = 0x10;
  cpu.spool.append(last);
  ++stats_.switches;
}

void PerfCollector::on_fork(const LifeRecord& record) {
  hw_fork fork{};
  fork.head = {record.ts_ns, HW_FORK, sizeof fork, record.tid};
  fork.pid = record.pid;
  fork.parent_tid = record.parent_tid;
  fork.parent_pid = record.parent_pid;
  fork.start_ns = record.ts_ns;  // the kernel took start_time some microseconds before
  Known child{static_cast<pid_t>(record.pid), {}};
  if (const auto parent = known_.find(record.parent_tid); parent != known_.end()) {
    memcpy(child.comm, parent->second.comm, HW_COMM_BYTES);
  }
  memcpy(fork.comm, child.comm, HW_COMM_BYTES);
  learn(record.tid, child);
  lifecycle(fork);
}

void PerfCollector::on_exit(const LifeRecord& record) {
  hw_exit exit{};
  exit.head = {record.ts_ns, HW_EXIT, sizeof exit, record.tid};
  exit.pid = record.pid;
  forget(record.tid);
  opened_.erase(record.tid);
  lifecycle(exit);
}

void PerfCollector::on_comm(const LifeRecord& record) {
  if (record.is_exec) {
    hw_exec exec{};
    exec.head = {record.ts_ns, HW_EXEC, sizeof exec, record.tid};
    exec.pid = record.pid;
    exec.old_tid = record.tid;
    memcpy(exec.comm, record.comm, HW_COMM_BYTES);
    exec_replaces_threads(static_cast<pid_t>(record.pid), &exec);
    lifecycle(exec);
  } else {
    hw_rename rename{};
    rename.head = {record.ts_ns, HW_RENAME, sizeof rename, record.tid};
    rename.pid = record.pid;
    memcpy(rename.comm, record.comm, HW_COMM_BYTES);
    lifecycle(rename);
  }
  Known known{static_cast<pid_t>(record.pid), {}};
  memcpy(known.comm, record.comm, HW_COMM_BYTES);
  learn(record.tid, known);
}

// An exec ends every other thread of the process, and the thread that called it goes on under the leader's number: if
// that was another one, its old number is the only one left that no exit record has ended.
void PerfCollector::exec_replaces_threads(pid_t pid, hw_exec* exec) {
  std::vector<uint32_t> gone;
  for (const auto& [tid, known] : known_) {
    if (known.pid == pid && tid != exec->head.tid) gone.push_back(tid);
  }
  for (const uint32_t tid : gone) forget(exec->old_tid = tid);
}

void PerfCollector::learn(uint32_t tid, const Known& thread) {
  if (const auto before = known_.find(tid); before != known_.end() && before->second.pid != thread.pid) forget(tid);
  if (known_.insert_or_assign(tid, thread).second) ++threads_of_[thread.pid];
}

// A process without a thread is forgotten as well: its number may be another's soon.
void PerfCollector::forget(uint32_t tid) {
  const auto found = known_.find(tid);
  if (found == known_.end()) return;
  const auto process = threads_of_.find(found->second.pid);
  if (process != threads_of_.end() && --process->second == 0) threads_of_.erase(process);
  known_.erase(found);
}

void PerfCollector::on_lost(CpuState& cpu, uint64_t events, int64_t until_ns) {
  hw_loss loss{};
  loss.head = {until_ns, HW_LOSS, sizeof loss, 0};
  loss.cpu = static_cast<hw_u32>(cpu.ring.cpu());
  loss.first_ns = cpu.last_ns;
  loss.last_ns = until_ns;
  loss.events = events;
  cpu.spool.append(loss);
  cpu.lost += events;
  stats_.lost += events;
  lost_since_reconciled_ = any_loss_ = true;
}

// Births and exits may be among the lost: /proc says who lives.
void PerfCollector::reconcile_with_proc() {
  lost_since_reconciled_ = false;
  const int64_t now = monotonic_ns();
  std::vector<pid_t> pids;
  for (const auto& [pid, threads] : threads_of_) pids.push_back(pid);
  std::unordered_set<uint32_t> alive;
  for (const pid_t pid : pids) {
    const std::vector<pid_t> tids = list_threads(pid);
    if (tids.empty()) threads_of_.erase(pid);
    for (const pid_t tid : tids) {
      alive.insert(static_cast<uint32_t>(tid));
      if (!known_.contains(static_cast<uint32_t>(tid))) add_snapshot(pid, tid);
    }
  }
  std::vector<std::pair<uint32_t, pid_t>> gone;
  for (const auto& [tid, known] : known_) {
    if (!alive.contains(tid)) gone.emplace_back(tid, known.pid);
  }
  for (const auto& [tid, pid] : gone) {
    hw_exit exit{};
    exit.head = {now, HW_EXIT, sizeof exit, tid};
    exit.pid = static_cast<hw_u32>(pid);
    lifecycle(exit);
    forget(tid);
  }
}

void PerfCollector::read_totals() {
  for (const auto& [tid, known] : known_) {
    if (const auto totals = read_schedstat(known.pid, static_cast<pid_t>(tid))) {
      lifecycle(*totals);
      ++stats_.totals_read;
    }
  }
  write_lifecycle();
}

// The kernel reports a loss with the next record that fits: what was lost at the very end has none.
void PerfCollector::find_trailing_losses() {
  std::vector<int64_t> lost(cpus_.size(), 0);
  for (const auto& [index, event] : events_) {
    const int64_t by_event = lost_by_event(event);
    if (by_event > 0) lost[index] += by_event;
  }
  for (size_t i = 0; i < cpus_.size(); ++i) {
    CpuState& cpu = *cpus_[i];
    if (lost[i] > static_cast<int64_t>(cpu.lost)) {
      on_lost(cpu, static_cast<uint64_t>(lost[i]) - cpu.lost, monotonic_ns());
    }
  }
}

void PerfCollector::flush_all() {
  lifecycle_->flush();
  uint64_t bytes = lifecycle_->bytes_written();
  uint64_t dropped = lifecycle_->records_dropped();
  int error = lifecycle_->error();
  for (const auto& cpu : cpus_) {
    cpu->spool.flush();
    bytes += cpu->spool.bytes_written();
    dropped += cpu->spool.records_dropped();
    if (error == 0) error = cpu->spool.error();
  }
  stats_.bytes = bytes;
  stats_.unwritten = dropped;
  if (error == 0) stats_.written_until_ns = drained_until_ns_;
  if (error != 0 && stats_.disk_error == 0) stats_.disk_error_ns = monotonic_ns();
  stats_.disk_error = error;
}

PerfStats PerfCollector::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

PerfStats PerfCollector::stop() {
  if (thread_.joinable()) {
    quit_.store(true);
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return stats_;
  stopped_ = true;
  drained_until_ns_ = monotonic_ns();
  read_totals();
  drain_once(INT64_MAX);
  find_trailing_losses();
  events_.clear();
  drain_once(INT64_MAX);
  flush_all();
  return stats_;
}

}  // namespace headway
