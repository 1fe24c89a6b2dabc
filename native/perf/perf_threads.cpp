// Which threads the perf collector records: those found in /proc and given events, and what their births, exits and
// names say, from the rings or, where that was lost, from /proc once more.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "perf/perf_collector.h"
#include "spool/collector_error.h"
#include "spool/proc_tasks.h"

namespace headway {
namespace {

constexpr int kAttachRounds = 20;

void allow_more_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

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

bool PerfCollector::is_known(pid_t pid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!known_.contains(static_cast<uint32_t>(pid))) drain_once(INT64_MAX);
  return known_.contains(static_cast<uint32_t>(pid));
}

void PerfCollector::snapshot_process(pid_t pid) {
  add_process(pid);
  // Who forks after its threads have their events hands them on, so once a whole pass finds nobody new, nobody is left
  // out. Ourselves we leave out: a shell may well record itself.
  std::unordered_set<pid_t> seen{pid, getpid()};
  for (bool grown = true; grown;) {
    grown = false;
    for (const pid_t descendant : list_descendants(pid)) {
      // Nobody new is who was forked under events: else a program that forks faster than a pass would keep us for ever.
      if (!seen.insert(descendant).second || is_known(descendant)) continue;
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
  std::vector<PerfDescriptor> opened;
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
  std::vector<uint32_t> ended;
  for (const auto& [tid, known] : known_) {
    if (known.pid == pid && tid != exec->head.tid) ended.push_back(tid);
  }
  for (const uint32_t tid : ended) forget(exec->old_tid = tid);
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
  std::vector<std::pair<uint32_t, pid_t>> ended;
  for (const auto& [tid, known] : known_) {
    if (!alive.contains(tid)) ended.emplace_back(tid, known.pid);
  }
  for (const auto& [tid, pid] : ended) {
    hw_exit exit{};
    exit.head = {now, HW_EXIT, sizeof exit, tid};
    exit.pid = static_cast<hw_u32>(pid);
    lifecycle(exit);
    forget(tid);
  }
}

void PerfCollector::write_lifecycle() {
  std::stable_sort(lifecycle_batch_.begin(), lifecycle_batch_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [when, bytes] : lifecycle_batch_) lifecycle_->append_bytes(bytes.data(), bytes.size());
  stats_.lifecycle += lifecycle_batch_.size();
  lifecycle_batch_.clear();
}

}  // namespace headway
