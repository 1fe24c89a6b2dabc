#include "kernel/kernel_collector.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kernel/kernel_traits.h"
#include "kernel/libbpf_log.h"
#include "kernel/ring_reader.h"
#include "kernel/sched_shared.h"
#include "kernel/syscall_classes.h"
#include "spool/collector_error.h"
#include "spool/proc_tasks.h"
#include "spool/spool_writer.h"
// Generated from sched.bpf.c.
#include "sched.skel.h"

namespace headway {
namespace {

constexpr size_t kLifecycleRingBytes = 2 << 20;
// Measured with 64 threads in ping-pong on 2 CPUs (10 MB of records per CPU and second) beside a load of 4 to 20 other
// busy threads: as SCHED_BATCH with 4 MiB the consumer came too late once in three runs; at nice -10 and below, 1 MiB
// lost nothing in any run. More room than that is for the disk: a write that waits for it has been seen to take 200 ms.
// What it takes from the program is the same either way, 1 to 3 % of a CPU there, in about ten
// pieces a second.
constexpr int kConsumerNice = -20;
constexpr size_t kMaxRingBytes = 16 << 20;
constexpr size_t kMinDefaultRingBytes = 512 << 10;
constexpr size_t kAllRingsBytes = 256 << 20;  // the kernel's memory for all CPUs together
constexpr int kDrainMs = 100;
constexpr int64_t kMissCheckNs = 1'000'000'000;
constexpr size_t kCpusPerConsumer = 4;
constexpr uint32_t kNoCpu = ~0u;

size_t ring_bytes_for(size_t asked, size_t cpus) {
  const size_t bytes = asked != 0 ? asked : std::clamp(kAllRingsBytes / cpus, kMinDefaultRingBytes, kMaxRingBytes);
  return std::bit_ceil(std::max(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE))));
}

bool locked_down() {
  std::ifstream file("/sys/kernel/security/lockdown");
  std::string text;
  std::getline(file, text);
  return text.find("[confidentiality]") != std::string::npos;
}

// Whether we see the initial pid namespace: pids of another one mean other processes to the kernel programs.
bool in_initial_pid_namespace() {
  constexpr ino_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO, fixed
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == kInitialPidNamespace;
}

struct MappedArray {
  MappedArray(int fd, size_t size) : bytes(size) {
    address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) throw CollectorError("ring", errno, "mapping a BPF array");
  }
  ~MappedArray() { munmap(address, bytes); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  void* address;
  size_t bytes;
};

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

struct SkeletonDeleter {
  void operator()(sched_bpf* skeleton) const { sched_bpf::destroy(skeleton); }
};
using Skeleton = std::unique_ptr<sched_bpf, SkeletonDeleter>;

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

}  // namespace

class KernelCollector::Impl {
 public:
  Impl(std::string spool_dir, size_t ring_bytes, bool force_raw);
  ~Impl() { stop(); }
  void add_process(pid_t pid);
  void snapshot_process(pid_t pid);
  void start();
  KernelStats stats() const;
  KernelStats stop();

 private:
  // A ring and the file it goes to. The mutex is contended only while someone asks for figures or adds a snapshot.
  struct CpuSource {
    CpuSource(int fd, size_t bytes, uint32_t cpu_index) : ring(fd, bytes), cpu(cpu_index) {}
    CpuRing ring;
    const uint32_t cpu;
    mutable std::mutex mutex;
    std::optional<SpoolWriter> writer;
    size_t peak_bytes = 0;
    int64_t written_until_ns = 0;  // every record of before is in the file
  };
  struct LifecycleSource {
    LifecycleSource(int fd, size_t bytes) : ring(fd, bytes) {}
    RingReader ring;
    mutable std::mutex mutex;
    std::optional<SpoolWriter> writer;
    uint64_t records = 0;
    int64_t written_until_ns = 0;
  };
  struct Consumer {
    explicit Consumer(int epoll_fd) : epoll(epoll_fd) {}
    FileDescriptor epoll;
    std::vector<CpuSource*> sources;
    std::thread thread;
    std::atomic<uint64_t> cpu_ns{0}, early_wakes{0};
  };

  void load_what_the_kernel_takes();
  Skeleton load(bool typed, bool reads_registers);
  void create_rings();
  void map_rings();
  void attach();
  void detach();
  void start_consumers();
  void consume(Consumer& consumer, bool is_first);
  void drain(CpuSource& source);
  void write_last_others(CpuSource& source);
  void drain_lifecycle();
  void check_misses();
  void disk_failed(int reason);
  void mark_recorded(pid_t pid);
  void write_snapshots(pid_t pid);
  void all_is_known();

  std::string spool_dir_;
  std::vector<int> cpus_;
  uint32_t possible_cpus_;
  size_t ring_bytes_;
  bool typed_ = false;
  KernelTraits traits_;
  Skeleton skeleton_;
  std::vector<std::unique_ptr<FileDescriptor>> ring_fds_;
  std::optional<MappedArray> tgids_, losses_;
  std::optional<LifecycleSource> lifecycle_;
  std::vector<std::unique_ptr<CpuSource>> sources_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  FileDescriptor wake_all_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  std::mutex state_mutex_;  // guards what follows
  bool started_ = false, stopped_ = false;
  std::set<pid_t> added_;
  std::set<std::pair<uint32_t, int64_t>> snapshotted_;  // tid, start

  std::mutex links_mutex_;
  std::vector<std::unique_ptr<bpf_link, LinkDeleter>> links_;

  std::atomic<bool> stopping_{false};
  std::atomic<int> disk_error_{0};
  std::atomic<int64_t> disk_error_ns_{0};
  std::atomic<uint64_t> missed_{0};
  int64_t misses_checked_ns_ = 0;
  int64_t detached_ns_ = 0;
};

// --- loading
// -----------------------------------------------------------------------------------------------------------

KernelCollector::Impl::Impl(std::string spool_dir, size_t ring_bytes, bool force_raw)
    : spool_dir_(std::move(spool_dir)), cpus_(online_cpus()), ring_bytes_(ring_bytes_for(ring_bytes, cpus_.size())) {
  capture_libbpf_log();
  clear_libbpf_log();
  if (!in_initial_pid_namespace()) throw CollectorError("pid-namespace", ENOTSUP, "/proc/self/ns/pid");
  const int possible = libbpf_num_possible_cpus();
  possible_cpus_ = possible > 0 ? static_cast<uint32_t>(possible) : static_cast<uint32_t>(cpus_.back()) + 1;
  traits_ = read_kernel_traits();
  create_rings();
  typed_ = !force_raw;
  load_what_the_kernel_takes();
  if (!skeleton_) {
    const int reason = errno;
    throw CollectorError(locked_down() ? "lockdown" : "load", reason, libbpf_log());
  }
  tgids_.emplace(bpf_map__fd(skeleton_->maps.tgids), sizeof(hw_tgid_block) * HW_TGID_BLOCKS);
  losses_.emplace(bpf_map__fd(skeleton_->maps.losses), sizeof(hw_shared_loss) * 2);
  map_rings();
}

void KernelCollector::Impl::load_what_the_kernel_takes() {
  do {
    skeleton_ = load(typed_, true);
    if (!skeleton_ && errno != EPERM) skeleton_ = load(typed_, false);
  } while (!skeleton_ && errno != EPERM && std::exchange(typed_, false));
}

// Null, with errno set, when the kernel refuses.
Skeleton KernelCollector::Impl::load(bool typed, bool reads_registers) {
  Skeleton skeleton(sched_bpf::open());
  if (!skeleton) return skeleton;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton->obj) {
    const std::string_view name = bpf_program__name(program);
    bpf_program__set_autoload(program, name.starts_with(typed ? "typed_" : "raw_"));
  }
  skeleton->rodata->ring_words = ring_bytes_ / sizeof(hw_u64);
  skeleton->rodata->wake_words = std::max<size_t>(ring_bytes_ / sizeof(hw_u64) / 16, 16);
  skeleton->rodata->lifecycle_half = kLifecycleRingBytes / 2;
  skeleton->rodata->switch_has_state = traits_.switch_has_state;
  skeleton->rodata->has_rdonly_cast = traits_.has_rdonly_cast;
  skeleton->rodata->preempt_count_at = traits_.preempt_count_at;
  skeleton->rodata->preempt_count_from_rq = traits_.preempt_count_from_rq;
  skeleton->rodata->reads_registers = reads_registers;
  std::ranges::copy(syscall_classes(), skeleton->rodata->syscall_class);
  bpf_map__set_max_entries(skeleton->maps.rings, possible_cpus_);
  bpf_map__set_inner_map_fd(skeleton->maps.rings, ring_fds_.front()->get());  // what the inner maps look like
  bpf_map__set_max_entries(skeleton->maps.lifecycle, kLifecycleRingBytes);
  const int error = sched_bpf::load(skeleton.get());
  if (error != 0) {
    skeleton.reset();
    errno = -error;
  }
  return skeleton;
}

void KernelCollector::Impl::create_rings() {
  for (size_t i = 0; i < cpus_.size(); ++i) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    const auto bytes = static_cast<uint32_t>(HW_RING_DATA + ring_bytes_);
    const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hw_ring", sizeof(hw_u32), bytes, 1, &options);
    // Without CAP_BPF this is the first call that fails; that says nothing about rings.
    if (fd < 0) throw CollectorError(errno == EPERM ? "load" : "ring", errno, "creating a CPU's ring");
    ring_fds_.push_back(std::make_unique<FileDescriptor>(fd));
  }
}

void KernelCollector::Impl::map_rings() {
  try {
    lifecycle_.emplace(bpf_map__fd(skeleton_->maps.lifecycle), kLifecycleRingBytes);
    for (size_t i = 0; i < cpus_.size(); ++i) {
      const int fd = ring_fds_[i]->get();
      if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.rings), &cpus_[i], &fd, BPF_ANY) != 0) {
        throw std::system_error(errno, std::generic_category(), "handing over a CPU's ring");
      }
      sources_.push_back(std::make_unique<CpuSource>(fd, ring_bytes_, static_cast<uint32_t>(cpus_[i])));
    }
  } catch (const std::system_error& error) {
    throw CollectorError("ring", error.code().value(), error.what());
  }
}

// --- the recorded set
// --------------------------------------------------------------------------------------------------

void KernelCollector::Impl::mark_recorded(pid_t pid) {
  static_cast<volatile hw_tgid_block*>(tgids_->address)[pid / HW_TGID_BLOCK].recorded[pid % HW_TGID_BLOCK] = 1;
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
  if (started_ && !stopped_) all_is_known();
}

// From now on a thread that leaves a CPU has come to it under our eyes, or hidden from them.
void KernelCollector::Impl::all_is_known() {
  const auto now = static_cast<uint64_t>(monotonic_ns());
  for (const auto& source : sources_) __atomic_store_n(&source->ring.shared().since_ns, now, __ATOMIC_RELAXED);
}

void KernelCollector::Impl::write_snapshots(pid_t pid) {
  for (const pid_t tid : list_threads(pid)) {
    const auto record = read_snapshot(pid, tid);
    if (!record || !snapshotted_.emplace(record->head.tid, record->start_ns).second) continue;
    const std::lock_guard lock(lifecycle_->mutex);
    lifecycle_->writer->append(*record);
    ++lifecycle_->records;
  }
}

// --- running
// -----------------------------------------------------------------------------------------------------------

void KernelCollector::Impl::start() {
  const std::lock_guard lock(state_mutex_);
  if (started_) throw CollectorError("attach", EALREADY, "the collector has been started before");
  try {
    lifecycle_->writer.emplace(spool_dir_, "lifecycle.spool", HW_SOURCE_LIFECYCLE, HW_PRODUCER_EBPF);
    for (const auto& source : sources_) {
      const std::string name = "sched-cpu" + std::to_string(source->cpu) + ".spool";
      constexpr size_t kLossesOnly = 0;  // the records themselves are written from the ring
      source->writer.emplace(spool_dir_, name, HW_SOURCE_SCHED, HW_PRODUCER_EBPF, source->cpu, kLossesOnly);
    }
  } catch (const std::system_error& error) {
    lifecycle_->writer.reset();
    for (const auto& source : sources_) source->writer.reset();
    throw CollectorError("spool", error.code().value(), error.what());
  }
  misses_checked_ns_ = lifecycle_->written_until_ns = monotonic_ns();
  for (const auto& source : sources_) {
    source->written_until_ns = misses_checked_ns_;
    hw_ring& ring = source->ring.shared();
    ring.others_at_ns = ring.others_since_ns = static_cast<hw_u64>(misses_checked_ns_);
  }
  attach();
  started_ = true;
  const std::set<pid_t> added = added_;
  for (const pid_t pid : added) write_snapshots(pid);
  all_is_known();
  start_consumers();
}

void KernelCollector::Impl::attach() {
  clear_libbpf_log();
  // Births first, so that no process of the tree is born unseen once its switches are recorded; switches last.
  static constexpr std::string_view kOrder[] = {"sched_process_fork", "sched_process_free", "sched_process_exec",
                                                "sched_process_exit", "task_rename",        "sched_wakeup_new",
                                                "sched_waking",       "sched_switch"};
  const std::lock_guard lock(links_mutex_);
  for (const std::string_view tracepoint : kOrder) {
    const std::string name = (typed_ ? "typed_" : "raw_") + std::string(tracepoint);
    bpf_program* program = bpf_object__find_program_by_name(skeleton_->obj, name.c_str());
    bpf_link* link = program == nullptr ? nullptr : bpf_program__attach(program);
    if (link == nullptr) {
      const int reason = errno;
      links_.clear();
      throw CollectorError("attach", reason, std::string(tracepoint) + ": " + libbpf_log());
    }
    links_.emplace_back(link);
  }
}

void KernelCollector::Impl::detach() {
  const std::lock_guard lock(links_mutex_);
  while (!links_.empty()) links_.pop_back();  // switches first
}

void KernelCollector::Impl::start_consumers() {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (i % kCpusPerConsumer == 0) {
      consumers_.push_back(std::make_unique<Consumer>(epoll_create1(EPOLL_CLOEXEC)));
      const int epoll = consumers_.back()->epoll.get();
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = wake_all_.get();
      epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
      // Edge-triggered: a level-triggered wait would return at once while there is any record at all.
      event.events = EPOLLIN | EPOLLET;
      event.data.fd = lifecycle_->ring.fd();
      epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
    }
    consumers_.back()->sources.push_back(sources_[i].get());
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
    last = stopping_.load(std::memory_order_acquire) || disk_error_.load() != 0;
    epoll_event event;
    const int ready = last ? 0 : epoll_wait(consumer.epoll.get(), &event, 1, kDrainMs);
    if (ready > 0 && event.data.fd != wake_all_.get()) ++consumer.early_wakes;
    // The few births and names first: if the disk fills up now, switches without threads would be worth nothing.
    if (is_first) {
      drain_lifecycle();
      if (monotonic_ns() - misses_checked_ns_ > kMissCheckNs) check_misses();
    }
    for (CpuSource* source : consumer.sources) drain(*source);
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    consumer.cpu_ns = static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
  }
}

namespace {

// Losses counted by the kernel program and not reported yet, as a record; marks them as reported.
std::optional<hw_loss> take_loss(const hw_loss_count& count, hw_u64& reported, uint32_t cpu) {
  const uint64_t events = __atomic_load_n(&count.events, __ATOMIC_ACQUIRE);
  if (events == reported) return std::nullopt;
  hw_loss record{};
  record.head = {monotonic_ns(), HW_LOSS, sizeof record, 0};
  record.cpu = cpu;
  record.first_ns = static_cast<int64_t>(__atomic_load_n(&count.first_ns, __ATOMIC_RELAXED));
  record.last_ns = static_cast<int64_t>(__atomic_load_n(&count.last_ns, __ATOMIC_RELAXED));
  record.events = events - reported;
  // An event lost since `events` was read keeps the span open: the next record then begins early rather than late.
  __atomic_store_n(&reported, events, __ATOMIC_RELEASE);
  return record;
}

}  // namespace

void KernelCollector::Impl::drain(CpuSource& source) {
  const std::lock_guard lock(source.mutex);
  if (disk_error_.load() != 0) return;  // what still fits would leave a hole behind it
  const int64_t now = monotonic_ns();
  const CpuRing::Stretches records = source.ring.available();
  source.peak_bytes = std::max(source.peak_bytes, records.bytes());
  SpoolWriter& writer = *source.writer;
  bool written = writer.write_through(records.first, records.second, 0);
  if (written) source.ring.release(records);
  hw_ring& shared = source.ring.shared();
  if (const auto loss = take_loss(shared.lost, shared.lost_reported, source.cpu)) {
    writer.append(*loss);
    written = writer.flush();
  }
  if (!written) return disk_failed(writer.error());
  source.written_until_ns = now;
}

// What others did on a CPU that none of ours has come back to. Nothing writes the rings any more.
void KernelCollector::Impl::write_last_others(CpuSource& source) {
  const std::lock_guard lock(source.mutex);
  const hw_ring& ring = source.ring.shared();
  if (disk_error_.load() != 0 || ring.on_cpu != 0) return;
  hw_switch record{};
  record.head = {detached_ns_, HW_SWITCH, sizeof record, 0};
  record.flags = HW_SW_OTHERS;
  record.prev_exec_ns = ring.others_ns;
  const auto until = static_cast<hw_u64>(detached_ns_);
  if (ring.other_on_cpu != 0 && until > ring.others_at_ns) record.prev_exec_ns += until - ring.others_at_ns;
  source.writer->append(record);
  if (!source.writer->flush()) disk_failed(source.writer->error());
}

void KernelCollector::Impl::drain_lifecycle() {
  const std::lock_guard lock(lifecycle_->mutex);
  if (disk_error_.load() != 0) return;
  const int64_t now = monotonic_ns();
  SpoolWriter& writer = *lifecycle_->writer;
  lifecycle_->ring.drain([&](const char* record, size_t bytes) {
    writer.append_bytes(record, bytes);
    ++lifecycle_->records;
  });
  for (size_t i = 0; i < 2; ++i) {
    hw_shared_loss& shared = static_cast<hw_shared_loss*>(losses_->address)[i];
    if (const auto loss = take_loss(shared.count, shared.reported, kNoCpu)) writer.append(*loss);
  }
  if (!writer.flush()) return disk_failed(writer.error());
  lifecycle_->written_until_ns = now;
}

// The kernel skips a program that already runs on the CPU. That takes an interrupt, with a waking of its own, inside a
// thread's waking of itself: the only one of our programs that can be interrupted by another event of its own kind.
void KernelCollector::Impl::check_misses() {
  uint64_t total = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton_->obj) {
    if (bpf_program__fd(program) < 0) continue;
    bpf_prog_info info{};
    uint32_t bytes = sizeof info;
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) == 0) total += info.recursion_misses;
  }
  const int64_t now = monotonic_ns();
  const uint64_t before = missed_.exchange(total);
  if (total > before) {
    hw_loss record{};
    record.head = {now, HW_LOSS, sizeof record, 0};
    record.cpu = kNoCpu;
    record.first_ns = misses_checked_ns_;
    record.last_ns = now;
    record.events = total - before;
    const std::lock_guard lock(lifecycle_->mutex);
    lifecycle_->writer->append(record);
  }
  misses_checked_ns_ = now;
}

void KernelCollector::Impl::disk_failed(int reason) {
  int none = 0;
  if (!disk_error_.compare_exchange_strong(none, reason)) return;
  disk_error_ns_ = monotonic_ns();
  detach();  // at once: the program should not go on paying for records that cannot be kept
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_all_.get(), &one, sizeof one);
}

KernelStats KernelCollector::Impl::stats() const {
  KernelStats sum;
  {
    const std::lock_guard lock(lifecycle_->mutex);
    sum.lifecycle = lifecycle_->records;
    sum.written_until_ns = lifecycle_->written_until_ns;
    if (lifecycle_->writer) sum.bytes += lifecycle_->writer->bytes_written();
  }
  for (const auto& source : sources_) {
    const std::lock_guard lock(source->mutex);
    const hw_ring& shared = source->ring.shared();
    sum.switches += shared.switches;
    sum.wakings += shared.wakings;
    sum.lost += shared.lost.events;
    sum.unwritten_bytes += source->ring.filled();
    sum.ring_peak_bytes = std::max<uint64_t>(sum.ring_peak_bytes, source->peak_bytes);
    if (source->writer) sum.bytes += source->writer->bytes_written();
    sum.written_until_ns = std::min(sum.written_until_ns, source->written_until_ns);
  }
  for (size_t i = 0; i < 2; ++i) sum.lost += static_cast<hw_shared_loss*>(losses_->address)[i].count.events;
  for (const auto& consumer : consumers_) {
    sum.consumer_cpu_ns += consumer->cpu_ns;
    sum.early_wakes += consumer->early_wakes;
  }
  sum.missed = missed_;
  sum.disk_error = disk_error_;
  sum.disk_error_ns = disk_error_ns_;
  sum.ring_bytes = ring_bytes_;
  sum.typed_programs = typed_;
  sum.irq_context_known = traits_.preempt_count_at != HW_PREEMPT_COUNT_UNKNOWN;
  return sum;
}

KernelStats KernelCollector::Impl::stop() {
  const std::lock_guard lock(state_mutex_);
  if (started_ && !stopped_) {
    detach();
    detached_ns_ = monotonic_ns();
    stopping_.store(true, std::memory_order_release);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_all_.get(), &one, sizeof one);
    for (const auto& consumer : consumers_) consumer->thread.join();
    check_misses();
    drain_lifecycle();
    for (const auto& source : sources_) {
      drain(*source);
      write_last_others(*source);
    }
    stopped_ = true;
  }
  return stats();
}

// --- the public face
// -----------------------------------------------------------------------------------------------------

KernelCollector::KernelCollector(std::string spool_dir, size_t ring_bytes, bool force_raw)
    : impl_(std::make_unique<Impl>(std::move(spool_dir), ring_bytes, force_raw)) {}
KernelCollector::~KernelCollector() = default;
void KernelCollector::add_process(pid_t pid) { impl_->add_process(pid); }
void KernelCollector::snapshot_process(pid_t pid) { impl_->snapshot_process(pid); }
void KernelCollector::start() { impl_->start(); }
KernelStats KernelCollector::stats() const { return impl_->stats(); }
KernelStats KernelCollector::stop() { return impl_->stop(); }

}  // namespace headway
