// The rings that the BPF programs write (one per CPU, one for births and names) and the spool files that they are
// drained into, with what was lost on the way and what others did on a CPU.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kernel_stats.h"
#include "kernel/owned.h"
#include "kernel/ring_reader.h"
#include "spool/spool_writer.h"

namespace headway {

constexpr size_t kLifecycleRingBytes = 2 << 20;

// The rings and files of one recording.
class RingFiles {
 public:
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

  // Creates the CPUs' rings; `asked` bytes each, 0 chooses by their number. Throws CollectorError with step "ring" or
  // "load".
  RingFiles(std::vector<int> cpus, size_t asked);

  size_t ring_bytes() const { return ring_bytes_; }
  int any_ring_fd() const { return ring_fds_.front()->get(); }
  int lifecycle_fd() const { return lifecycle_->ring.fd(); }
  const std::vector<std::unique_ptr<CpuSource>>& sources() const { return sources_; }
  int disk_error() const { return disk_error_.load(); }

  // Hands the rings over to the programs and maps everything. Throws CollectorError with step "ring".
  void map(int rings_fd, int lifecycle_fd, int losses_fd);

  // Creates the files, of records from `now_ns` on. Throws CollectorError with step "spool"; then there are none.
  void open(const std::string& spool_dir, int64_t now_ns, SpoolCounters counted = {});

  // From now on a thread that leaves a CPU has come to it under our eyes, or hidden from them.
  void all_is_known();

  void add_snapshot(const hw_snapshot& record);
  // What the counters of a CPU stood at, in words as hw_flush has them, while a thread had it (0: none of ours).
  void add_counts(CpuSource& source, const hw_flush& flush, size_t words);
  // A loss of any CPU.
  void add_loss(uint64_t events, int64_t first_ns, int64_t last_ns);

  // Write what is in a ring. True if the disk failed, for the first time: nothing is written from then on.
  [[nodiscard]] bool drain(CpuSource& source);
  [[nodiscard]] bool drain_lifecycle();
  // What others did on a CPU that none of ours has come back to. Only once nothing writes the rings any more.
  [[nodiscard]] bool write_last_others(CpuSource& source, int64_t detached_ns);

  void add_to(KernelStats& sum) const;

 private:
  struct LifecycleSource {
    LifecycleSource(int fd, size_t bytes) : ring(fd, bytes) {}
    RingReader ring;
    mutable std::mutex mutex;
    std::optional<SpoolWriter> writer;
    uint64_t records = 0;
    int64_t written_until_ns = 0;
  };

  hw_shared_loss* shared_losses() const;
  bool failed(const SpoolWriter& writer);

  std::vector<int> cpus_;
  size_t ring_bytes_;
  std::vector<std::unique_ptr<FileDescriptor>> ring_fds_;
  std::optional<MappedArray> losses_;
  std::optional<LifecycleSource> lifecycle_;
  std::vector<std::unique_ptr<CpuSource>> sources_;
  std::atomic<int> disk_error_{0};
  std::atomic<int64_t> disk_error_ns_{0};
};

}  // namespace headway
