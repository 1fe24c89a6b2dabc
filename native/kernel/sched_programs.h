// The BPF programs of sched.bpf.c: loaded as the kernel takes them, attached and detached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "counters/cpu_counters.h"
#include "kernel/kernel_traits.h"
#include "kernel/sched_shared.h"

struct bpf_link;
struct sched_bpf;

namespace headway {

struct ProgramSizes {
  uint32_t cpu_places;
  size_t ring_bytes;
  size_t lifecycle_bytes;
};

// The loaded programs of one recording.
class SchedPrograms {
 public:
  // `ring_fd`: one of the rings, which tells what all look like. `force_raw` skips tp_btf. `counters`: read at each switch;
  // nullptr: none. Throws CollectorError with step "load", "lockdown" or "counter".
  SchedPrograms(const ProgramSizes& sizes, const KernelTraits& traits, int ring_fd, bool force_raw,
                const CpuCounters* counters = nullptr);
  ~SchedPrograms();
  SchedPrograms(const SchedPrograms&) = delete;
  SchedPrograms& operator=(const SchedPrograms&) = delete;

  int rings_fd() const;
  int lifecycle_fd() const;
  int tgids_fd() const;
  int losses_fd() const;
  bool is_typed() const { return typed_; }

  // Throws CollectorError with step "attach"; then none is attached.
  void attach();
  void detach();

  // Reads the counters of a CPU there and now; false where the kernel (before 5.10) can't run a program on another CPU.
  bool flush(int cpu, hw_flush* out) const;

  // Events on which the kernel skipped a program because it ran on that CPU already.
  uint64_t misses() const;

 private:
  struct SkeletonDeleter {
    void operator()(sched_bpf* skeleton) const;
  };
  struct LinkDeleter {
    void operator()(bpf_link* link) const;
  };
  using Skeleton = std::unique_ptr<sched_bpf, SkeletonDeleter>;

  Skeleton load(bool typed, bool reads_registers) const;
  void hand_over_counters() const;

  ProgramSizes sizes_;
  KernelTraits traits_;
  int ring_fd_;
  const CpuCounters* counters_;
  bool typed_;
  Skeleton skeleton_;
  std::mutex links_mutex_;
  std::vector<std::unique_ptr<bpf_link, LinkDeleter>> links_;
};

}  // namespace headway
