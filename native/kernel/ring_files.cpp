#include "kernel/ring_files.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include "spool/collector_error.h"
#include "spool/proc_tasks.h"

namespace headway {
namespace {

constexpr size_t kMaxRingBytes = 16 << 20;
constexpr size_t kMinDefaultRingBytes = 512 << 10;
constexpr size_t kAllRingsBytes = 256 << 20;  // the kernel's memory for all CPUs together
constexpr uint32_t kNoCpu = ~0u;

size_t ring_bytes_for(size_t asked, size_t cpus) {
  const size_t bytes = asked != 0 ? asked : std::clamp(kAllRingsBytes / cpus, kMinDefaultRingBytes, kMaxRingBytes);
  return std::bit_ceil(std::max(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE))));
}

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

RingFiles::RingFiles(std::vector<int> cpus, size_t asked)
    : cpus_(std::move(cpus)), ring_bytes_(ring_bytes_for(asked, cpus_.size())) {
  for (size_t i = 0; i < cpus_.size(); ++i) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    const auto bytes = static_cast<uint32_t>(HW_RING_DATA + ring_bytes_);
    const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hw_ring", sizeof(hw_u32), bytes, 1, &options);
    // Without CAP_BPF this is the first call that fails; that says nothing about rings.
    if (fd < 0) throw CollectorError(errno == EPERM ? "load" : "ring", errno, "creating a CPU's ring");
    ring_fds_.push_back(std::make_unique<FileDescriptor>(fd));
  }
}

void RingFiles::map(int rings_fd, int lifecycle_fd, int losses_fd) {
  losses_.emplace(losses_fd, sizeof(hw_shared_loss) * 2);
  try {
    lifecycle_.emplace(lifecycle_fd, kLifecycleRingBytes);
    for (size_t i = 0; i < cpus_.size(); ++i) {
      const int fd = ring_fds_[i]->get();
      if (bpf_map_update_elem(rings_fd, &cpus_[i], &fd, BPF_ANY) != 0) {
        throw std::system_error(errno, std::generic_category(), "handing over a CPU's ring");
      }
      sources_.push_back(std::make_unique<CpuSource>(fd, ring_bytes_, static_cast<uint32_t>(cpus_[i])));
    }
  } catch (const std::system_error& error) {
    throw CollectorError("ring", error.code().value(), error.what());
  }
}

void RingFiles::open(const std::string& spool_dir, int64_t now_ns, SpoolCounters counted) {
  try {
    lifecycle_->writer.emplace(spool_dir, "lifecycle.spool", HW_SOURCE_LIFECYCLE, HW_PRODUCER_EBPF);
    for (const auto& source : sources_) {
      const std::string name = "sched-cpu" + std::to_string(source->cpu) + ".spool";
      constexpr size_t kLossesOnly = 0;  // the records themselves are written from the ring
      source->writer.emplace(spool_dir, name, HW_SOURCE_SCHED, HW_PRODUCER_EBPF, source->cpu, kLossesOnly, counted);
    }
  } catch (const std::system_error& error) {
    lifecycle_->writer.reset();
    for (const auto& source : sources_) source->writer.reset();
    throw CollectorError("spool", error.code().value(), error.what());
  }
  lifecycle_->written_until_ns = now_ns;
  for (const auto& source : sources_) {
    source->written_until_ns = now_ns;
    hw_ring& ring = source->ring.shared();
    ring.others_at_ns = ring.others_since_ns = static_cast<hw_u64>(now_ns);
  }
}

void RingFiles::all_is_known() {
  const auto now = static_cast<uint64_t>(monotonic_ns());
  for (const auto& source : sources_) __atomic_store_n(&source->ring.shared().since_ns, now, __ATOMIC_RELAXED);
}

void RingFiles::add_snapshot(const hw_snapshot& record) {
  const std::lock_guard lock(lifecycle_->mutex);
  lifecycle_->writer->append(record);
  ++lifecycle_->records;
}

void RingFiles::add_counts(CpuSource& source, const hw_flush& flush, size_t words) {
  struct {
    hw_counts record;
    hw_u64 words[HW_COUNTS_WORDS];
  } out{};
  const size_t bytes = sizeof out.record + words * sizeof(hw_u64);
  out.record.head = {static_cast<hw_i64>(flush.ts_ns), HW_COUNTS, static_cast<hw_u16>(bytes), flush.tid};
  std::copy_n(flush.words, words, out.words);
  const std::lock_guard lock(source.mutex);
  source.writer->append_bytes(&out, bytes);
  source.writer->flush();  // what is written through from a ring comes after it
}

void RingFiles::add_loss(uint64_t events, int64_t first_ns, int64_t last_ns) {
  hw_loss record{};
  record.head = {last_ns, HW_LOSS, sizeof record, 0};
  record.cpu = kNoCpu;
  record.first_ns = first_ns;
  record.last_ns = last_ns;
  record.events = events;
  const std::lock_guard lock(lifecycle_->mutex);
  lifecycle_->writer->append(record);
}

bool RingFiles::failed(const SpoolWriter& writer) {
  int none = 0;
  if (!disk_error_.compare_exchange_strong(none, writer.error())) return false;
  disk_error_ns_ = monotonic_ns();
  return true;
}

bool RingFiles::drain(CpuSource& source) {
  const std::lock_guard lock(source.mutex);
  if (disk_error_.load() != 0) return false;  // what still fits would leave a hole behind it
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
  if (!written) return failed(writer);
  source.written_until_ns = now;
  return false;
}

bool RingFiles::write_last_others(CpuSource& source, int64_t detached_ns) {
  const std::lock_guard lock(source.mutex);
  const hw_ring& ring = source.ring.shared();
  if (disk_error_.load() != 0 || ring.on_cpu != 0) return false;
  hw_switch record{};
  record.head = {detached_ns, HW_SWITCH, sizeof record, 0};
  record.flags = HW_SW_OTHERS;
  record.prev_exec_ns = ring.others_ns;
  const auto until = static_cast<hw_u64>(detached_ns);
  if (ring.other_on_cpu != 0 && until > ring.others_at_ns) record.prev_exec_ns += until - ring.others_at_ns;
  source.writer->append(record);
  return !source.writer->flush() && failed(*source.writer);
}

bool RingFiles::drain_lifecycle() {
  const std::lock_guard lock(lifecycle_->mutex);
  if (disk_error_.load() != 0) return false;
  const int64_t now = monotonic_ns();
  SpoolWriter& writer = *lifecycle_->writer;
  lifecycle_->ring.drain([&](const char* record, size_t bytes) {
    writer.append_bytes(record, bytes);
    ++lifecycle_->records;
  });
  for (size_t i = 0; i < 2; ++i) {
    hw_shared_loss& shared = shared_losses()[i];
    if (const auto loss = take_loss(shared.count, shared.reported, kNoCpu)) writer.append(*loss);
  }
  if (!writer.flush()) return failed(writer);
  lifecycle_->written_until_ns = now;
  return false;
}

hw_shared_loss* RingFiles::shared_losses() const { return static_cast<hw_shared_loss*>(losses_->address); }

void RingFiles::add_to(KernelStats& sum) const {
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
  for (size_t i = 0; i < 2; ++i) sum.lost += shared_losses()[i].count.events;
  sum.disk_error = disk_error_;
  sum.disk_error_ns = disk_error_ns_;
  sum.ring_bytes = ring_bytes_;
}

}  // namespace headway
