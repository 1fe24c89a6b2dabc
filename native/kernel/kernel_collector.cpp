#include "kernel/kernel_collector.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "counters/cpu_counters.h"
#include "cpus/cpus.h"
#include "kernel/kernel_traits.h"
#include "kernel/libbpf_log.h"
#include "kernel/owned.h"
#include "kernel/ring_files.h"
#include "kernel/sched_programs.h"
#include "kernel/sched_shared.h"
#include "spool/collector_error.h"
#include "spool/proc_tasks.h"

namespace headway {
namespace {

// Measured with 64 threads in ping-pong on 2 CPUs (10 MB of records per CPU and second) beside a load of 4 to 20 other
// busy threads: as SCHED_BATCH with 4 MiB the consumer came too late once in three runs; at nice -10 and below, 1 MiB
// lost nothing in any run. More room than that is for the disk: a write that waits for it has been seen to take 200 ms.
// What it takes from the program is the same either way, 1 to 3 % of a CPU there, in about ten pieces a
// second.
constexpr int kConsumerNice = -20;
constexpr int kDrainMs = 100;
constexpr int64_t kMissCheckNs = 1'000'000'000;
constexpr size_t kCpusPerConsumer = 4;

// Whether we see the initial pid namespace: pids of another one mean other processes to the kernel programs.
bool in_initial_pid_namespace() {
  constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO, fixed
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == kInitialPidNamespace;
}

// The CPUs to record, once it is clear that the kernel's programs would see the processes that we mean.
std::vector<int> recorded_cpus() {
  capture_libbpf_log();
  clear_libbpf_log();
  if (!in_initial_pid_namespace()) throw CollectorError("pid-namespace", ENOTSUP, "/proc/self/ns/pid");
  return online_cpus();
}

}  // namespace

class KernelCollector::Impl {
 public:
  Impl(std::string spool_dir, size_t ring_bytes, bool force_raw, std::vector<CounterGroup> counters);
  ~Impl() { stop(); }
  void add_process(pid_t pid);
  void snapshot_process(pid_t pid);
  void start();
  KernelStats stats() const;
  KernelStats stop();

 private:
  struct Consumer {
    explicit Consumer(int epoll_fd) : epoll(epoll_fd) {}
    FileDescriptor epoll;
    std::vector<RingFiles::CpuSource*> sources;
    std::thread thread;
    std::atomic<uint64_t> cpu_ns{0}, early_wakes{0};
  };

  void start_consumers();
  void consume(Consumer& consumer, bool is_first);
  void wake_consumers();
  void check_misses();
  void give_up();
  void mark_recorded(pid_t pid);
  void write_snapshots(pid_t pid);
  void flush_counters();
  void write_flushes();
  std::vector<CounterGroupTotals> counter_totals() const;

  std::string spool_dir_;
  std::vector<int> cpus_;
  KernelTraits traits_;
  RingFiles files_;
  std::unique_ptr<CpuCounters> counters_;
  SchedPrograms programs_;
  MappedArray tgids_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  FileDescriptor wake_all_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  std::mutex state_mutex_;  // guards what follows
  bool started_ = false, stopped_ = false;
  std::set<pid_t> added_;
  std::set<std::pair<uint32_t, int64_t>> snapshotted_;  // tid, start

  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> missed_{0};
  int64_t misses_checked_ns_ = 0;
  std::atomic<bool> counts_flushed_{false};
  std::vector<std::optional<hw_flush>> flushes_;  // of each CPU, not written yet
  int64_t detached_ns_ = 0;
};

KernelCollector::Impl::Impl(std::string spool_dir, size_t ring_bytes, bool force_raw,
                            std::vector<CounterGroup> counters)
    : spool_dir_(std::move(spool_dir)),
      cpus_(recorded_cpus()),
      traits_(read_kernel_traits()),
      files_(cpus_, ring_bytes),
      counters_(counters.empty() ? nullptr : std::make_unique<CpuCounters>(std::move(counters), cpus_)),
      programs_({static_cast<uint32_t>(cpu_places()), files_.ring_bytes(), kLifecycleRingBytes}, traits_,
                files_.any_ring_fd(), force_raw, counters_.get()),
      tgids_(programs_.tgids_fd(), sizeof(hw_tgid_block) * HW_TGID_BLOCKS) {
  files_.map(programs_.rings_fd(), programs_.lifecycle_fd(), programs_.losses_fd());
}

// --- the recorded set
// --------------------------------------------------------------------------------------------------

void KernelCollector::Impl::mark_recorded(pid_t pid) {
  static_cast<volatile hw_tgid_block*>(tgids_.address)[pid / HW_TGID_BLOCK].recorded[pid % HW_TGID_BLOCK] = 1;
  added_.insert(pid);
}

void KernelCollector::Impl::add_process(pid_t pid) {
  const auto group = thread_group_of(pid);
  if (!group) throw CollectorError("process", ESRCH, std::to_string(pid));
  if (*group == getpid()) throw CollectorError("process", EINVAL, "the recorder cannot record itself");
  const std::lock_guard lock(state_mutex_);
  mark_recorded(*group);
  if (started_ && !stopped_) write_snapshots(*group);
}

void KernelCollector::Impl::snapshot_process(pid_t pid) {
  add_process(pid);
  const std::lock_guard lock(state_mutex_);
  // A process in the set cannot fork unseen, so once a whole pass finds nobody new, nobody is left out.
  for (bool grown = true; grown;) {
    grown = false;
    for (const pid_t descendant : list_descendants(pid)) {
      if (descendant == getpid() || !added_.insert(descendant).second) continue;
      mark_recorded(descendant);
      if (started_ && !stopped_) write_snapshots(descendant);
      grown = true;
    }
  }
  if (started_ && !stopped_) files_.all_is_known();
}

void KernelCollector::Impl::write_snapshots(pid_t pid) {
  for (const pid_t tid : list_threads(pid)) {
    const auto record = read_snapshot(pid, tid);
    if (!record || !snapshotted_.emplace(record->head.tid, record->start_ns).second) continue;
    files_.add_snapshot(*record);
  }
}

// --- running
// -----------------------------------------------------------------------------------------------------------

void KernelCollector::Impl::start() {
  const std::lock_guard lock(state_mutex_);
  if (started_) throw CollectorError("attach", EALREADY, "the collector has been started before");
  misses_checked_ns_ = monotonic_ns();
  SpoolCounters counted;
  if (counters_ != nullptr) {
    counted = {static_cast<uint16_t>(counters_->counters()), static_cast<uint16_t>(counters_->groups())};
  }
  files_.open(spool_dir_, misses_checked_ns_, counted);
  programs_.attach();
  started_ = true;
  const std::set<pid_t> added = added_;
  for (const pid_t pid : added) write_snapshots(pid);
  files_.all_is_known();
  flush_counters();
  for (const auto& source : files_.sources()) {
    if (counters_ != nullptr && files_.drain(*source)) give_up();
  }
  write_flushes();
  start_consumers();
}

void KernelCollector::Impl::start_consumers() {
  for (size_t i = 0; i < files_.sources().size(); ++i) {
    if (i % kCpusPerConsumer == 0) {
      consumers_.push_back(std::make_unique<Consumer>(epoll_create1(EPOLL_CLOEXEC)));
      const int epoll = consumers_.back()->epoll.get();
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = wake_all_.get();
      epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
      // Edge-triggered: a level-triggered wait would return at once while there is any record at all.
      event.events = EPOLLIN | EPOLLET;
      event.data.fd = files_.lifecycle_fd();
      epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
    }
    consumers_.back()->sources.push_back(files_.sources()[i].get());
  }
  // The consumers inherit a mask that blocks every signal: those are for the thread that runs Python.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (const auto& consumer : consumers_) {
    const bool is_first = consumer == consumers_.front();
    consumer->thread = std::thread([this, &consumer, is_first] { consume(*consumer, is_first); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void KernelCollector::Impl::consume(Consumer& consumer, bool is_first) {
  prctl(PR_SET_NAME, "hw-drain");
  // Refused without CAP_SYS_NICE; then the ring has to last for longer.
  setpriority(PRIO_PROCESS, 0, kConsumerNice);
  for (bool last = false; !last;) {
    last = stopping_.load(std::memory_order_acquire) || files_.disk_error() != 0;
    epoll_event event;
    const int ready = last ? 0 : epoll_wait(consumer.epoll.get(), &event, 1, kDrainMs);
    if (ready > 0 && event.data.fd != wake_all_.get()) ++consumer.early_wakes;
    // The few births and names first: if the disk fills up now, switches without threads would be worth nothing.
    if (is_first) {
      if (files_.drain_lifecycle()) give_up();
      if (monotonic_ns() - misses_checked_ns_ > kMissCheckNs) check_misses();
    }
    for (RingFiles::CpuSource* source : consumer.sources) {
      if (files_.drain(*source)) give_up();
    }
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    consumer.cpu_ns = static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
  }
}

// The kernel skips a program that already runs on the CPU.
void KernelCollector::Impl::check_misses() {
  const uint64_t total = programs_.misses();
  const int64_t now = monotonic_ns();
  const uint64_t before = missed_.exchange(total);
  if (total > before) files_.add_loss(total - before, misses_checked_ns_, now);
  misses_checked_ns_ = now;
}

// The disk has failed.
void KernelCollector::Impl::give_up() {
  programs_.detach();  // at once: the program should not go on paying for records that cannot be kept
  wake_consumers();
}

void KernelCollector::Impl::wake_consumers() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_all_.get(), &one, sizeof one);
}

KernelStats KernelCollector::Impl::stats() const {
  KernelStats sum;
  files_.add_to(sum);
  for (const auto& consumer : consumers_) {
    sum.consumer_cpu_ns += consumer->cpu_ns;
    sum.early_wakes += consumer->early_wakes;
  }
  sum.missed = missed_;
  sum.counts_flushed = counts_flushed_;
  sum.counter_totals = counter_totals();
  sum.typed_programs = programs_.is_typed();
  sum.irq_context_known = traits_.preempt_count_at != HW_PREEMPT_COUNT_UNKNOWN;
  return sum;
}

KernelStats KernelCollector::Impl::stop() {
  const std::lock_guard lock(state_mutex_);
  if (started_ && !stopped_) {
    flush_counters();
    programs_.detach();
    detached_ns_ = monotonic_ns();
    stopping_.store(true, std::memory_order_release);
    wake_consumers();
    for (const auto& consumer : consumers_) consumer->thread.join();
    check_misses();
    if (files_.drain_lifecycle()) give_up();
    for (const auto& source : files_.sources()) {
      if (files_.drain(*source)) give_up();
    }
    write_flushes();
    for (const auto& source : files_.sources()) {
      if (files_.write_last_others(*source, detached_ns_)) give_up();
    }
    stopped_ = true;
  }
  return stats();
}

// Threads that have a CPU now: no switch tells what the counters stood at when they got it, or will stand at.
void KernelCollector::Impl::flush_counters() {
  if (counters_ == nullptr) return;
  flushes_.clear();
  for (const auto& source : files_.sources()) {
    hw_flush flush{};
    const bool is_read = programs_.flush(static_cast<int>(source->cpu), &flush);
    flushes_.push_back(is_read ? std::optional(flush) : std::nullopt);
  }
  counts_flushed_ = std::ranges::all_of(flushes_, [](const auto& each) { return each.has_value(); });
}

// Once all that was in the rings before is in the files: their records are in order of time, but for a few.
void KernelCollector::Impl::write_flushes() {
  for (size_t i = 0; i < flushes_.size(); ++i) {
    if (flushes_[i] && files_.disk_error() == 0) {
      files_.add_counts(*files_.sources()[i], *flushes_[i], counters_->counters() + counters_->groups());
    }
  }
  flushes_.clear();
}

std::vector<CounterGroupTotals> KernelCollector::Impl::counter_totals() const {
  std::vector<CounterGroupTotals> found;
  if (counters_ == nullptr) return found;
  uint32_t group = 0;
  for (uint32_t i = 0; i < counters_->counters(); ++i) {
    if (!counters_->begins_group(i)) continue;
    for (size_t at = 0; at < counters_->cpus().size(); ++at) {
      EventTotals totals;
      if (counters_->totals(i, at, &totals)) {
        found.push_back({counters_->cpus()[at], group, totals.enabled_ns, totals.running_ns});
      }
    }
    ++group;
  }
  return found;
}

// --- the public face
// -----------------------------------------------------------------------------------------------------

KernelCollector::KernelCollector(std::string spool_dir, size_t ring_bytes, bool force_raw,
                                 std::vector<CounterGroup> counters)
    : impl_(std::make_unique<Impl>(std::move(spool_dir), ring_bytes, force_raw, std::move(counters))) {}
KernelCollector::~KernelCollector() = default;
void KernelCollector::add_process(pid_t pid) { impl_->add_process(pid); }
void KernelCollector::snapshot_process(pid_t pid) { impl_->snapshot_process(pid); }
void KernelCollector::start() { impl_->start(); }
KernelStats KernelCollector::stats() const { return impl_->stats(); }
KernelStats KernelCollector::stop() { return impl_->stop(); }

}  // namespace headway
