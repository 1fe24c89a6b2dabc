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

#include "cpus/cpus.h"
#include "spool/collector_error.h"
#include "spool/proc_tasks.h"

namespace headway {
namespace {

constexpr int64_t kTotalsEveryNs = 1'000'000'000;
constexpr int64_t kTotalsShare = 300;  // reading totals may take one part in this of the time
constexpr int64_t kFlushEveryNs = 200'000'000;
constexpr int64_t kSettledNs = 1'000'000;  // a record is in its ring long before it is so old
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
  stats_.written_until_ns = drained_until_ns_ = cpus_looked_at_ns_ = monotonic_ns();
}

PerfCollector::~PerfCollector() { stop(); }

void PerfCollector::start() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
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
      note_late_cpus(now);
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

void PerfCollector::read_totals() {
  for (const auto& [tid, known] : known_) {
    if (const auto totals = read_schedstat(known.pid, static_cast<pid_t>(tid))) {
      lifecycle(*totals);
      ++stats_.totals_read;
    }
  }
  write_lifecycle();
}

void PerfCollector::note_late_cpus(int64_t now_ns) {
  for (const int cpu : online_cpus()) {
    const bool is_recorded =
        std::any_of(cpus_.begin(), cpus_.end(), [&](const auto& each) { return each->ring.cpu() == cpu; });
    if (is_recorded || !late_cpus_.insert(cpu).second) continue;
    hw_loss loss{};
    loss.head = {now_ns, HW_LOSS, sizeof loss, 0};
    loss.cpu = static_cast<hw_u32>(cpu);
    loss.first_ns = cpus_looked_at_ns_;
    loss.last_ns = now_ns;
    loss.events = 1;  // how many more there are nobody counts
    lifecycle(loss);
    ++stats_.lost;
  }
  cpus_looked_at_ns_ = now_ns;
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
  note_late_cpus(monotonic_ns());
  drain_once(INT64_MAX);
  find_trailing_losses();
  events_.clear();
  drain_once(INT64_MAX);
  flush_all();
  return stats_;
}

}  // namespace headway
