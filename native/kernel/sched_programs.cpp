#include "kernel/sched_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "kernel/libbpf_log.h"
#include "kernel/sched_shared.h"
#include "kernel/syscall_classes.h"
#include "spool/collector_error.h"
// Generated from sched.bpf.c.
#include "sched.skel.h"

namespace headway {
namespace {

bool locked_down() {
  std::ifstream file("/sys/kernel/security/lockdown");
  std::string text;
  std::getline(file, text);
  return text.find("[confidentiality]") != std::string::npos;
}

}  // namespace

void SchedPrograms::SkeletonDeleter::operator()(sched_bpf* skeleton) const { sched_bpf::destroy(skeleton); }
void SchedPrograms::LinkDeleter::operator()(bpf_link* link) const { bpf_link__destroy(link); }

SchedPrograms::SchedPrograms(const ProgramSizes& sizes, const KernelTraits& traits, int ring_fd, bool force_raw,
                             const CpuCounters* counters)
    : sizes_(sizes), traits_(traits), ring_fd_(ring_fd), counters_(counters), typed_(!force_raw) {
  do {
    skeleton_ = load(typed_, true);
    if (!skeleton_ && errno != EPERM) skeleton_ = load(typed_, false);
  } while (!skeleton_ && errno != EPERM && std::exchange(typed_, false));
  if (!skeleton_) {
    const int reason = errno;
    throw CollectorError(locked_down() ? "lockdown" : "load", reason, libbpf_log());
  }
  if (counters_ != nullptr) hand_over_counters();
}

SchedPrograms::~SchedPrograms() = default;

// Null, with errno set, when the kernel refuses.
SchedPrograms::Skeleton SchedPrograms::load(bool typed, bool reads_registers) const {
  Skeleton skeleton(sched_bpf::open());
  if (!skeleton) return skeleton;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton->obj) {
    const std::string_view name = bpf_program__name(program);
    const bool is_flush = counters_ != nullptr && name == "flush_counters";
    bpf_program__set_autoload(program, is_flush || name.starts_with(typed ? "typed_" : "raw_"));
  }
  skeleton->rodata->ring_words = sizes_.ring_bytes / sizeof(hw_u64);
  skeleton->rodata->wake_words = std::max<size_t>(sizes_.ring_bytes / sizeof(hw_u64) / 16, 16);
  skeleton->rodata->lifecycle_half = sizes_.lifecycle_bytes / 2;
  skeleton->rodata->switch_has_state = traits_.switch_has_state;
  skeleton->rodata->has_rdonly_cast = traits_.has_rdonly_cast;
  skeleton->rodata->preempt_count_at = traits_.preempt_count_at;
  skeleton->rodata->preempt_count_from_rq = traits_.preempt_count_from_rq;
  skeleton->rodata->reads_registers = reads_registers;
  std::ranges::copy(syscall_classes(), skeleton->rodata->syscall_class);
  if (counters_ != nullptr) {
    skeleton->rodata->counters = counters_->counters();
    skeleton->rodata->counter_groups = counters_->groups();
    skeleton->rodata->counter_cpus = sizes_.cpu_places;
    for (uint32_t i = 0; i < counters_->counters(); ++i) {
      skeleton->rodata->counter_begins_group[i] = counters_->begins_group(i);
    }
    bpf_map__set_max_entries(skeleton->maps.counter_events, counters_->counters() * sizes_.cpu_places);
    bpf_map__set_max_entries(skeleton->maps.flushed, sizes_.cpu_places);
  }
  bpf_map__set_max_entries(skeleton->maps.rings, sizes_.cpu_places);
  bpf_map__set_inner_map_fd(skeleton->maps.rings, ring_fd_);  // what the inner maps look like
  bpf_map__set_max_entries(skeleton->maps.lifecycle, static_cast<uint32_t>(sizes_.lifecycle_bytes));
  const int error = sched_bpf::load(skeleton.get());
  if (error != 0) {
    skeleton.reset();
    errno = -error;
  }
  return skeleton;
}

void SchedPrograms::hand_over_counters() const {
  const int map = bpf_map__fd(skeleton_->maps.counter_events);
  for (uint32_t i = 0; i < counters_->counters(); ++i) {
    for (size_t at = 0; at < counters_->cpus().size(); ++at) {
      const hw_u32 place = i * sizes_.cpu_places + static_cast<hw_u32>(counters_->cpus()[at]);
      const int fd = counters_->fd(i, at);
      if (bpf_map_update_elem(map, &place, &fd, BPF_ANY) != 0) {
        throw CollectorError("counter", errno, "handing a counter over to the kernel program");
      }
    }
  }
}

bool SchedPrograms::flush(int cpu, hw_flush* out) const {
  hw_u64 arguments[4] = {};
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments, .ctx_size_in = sizeof arguments,
              .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = static_cast<hw_u32>(cpu));
  if (bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.flush_counters), &options) != 0) return false;
  const auto place = static_cast<hw_u32>(cpu);
  return bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.flushed), &place, out) == 0 && out->is_read != 0;
}

int SchedPrograms::rings_fd() const { return bpf_map__fd(skeleton_->maps.rings); }
int SchedPrograms::lifecycle_fd() const { return bpf_map__fd(skeleton_->maps.lifecycle); }
int SchedPrograms::tgids_fd() const { return bpf_map__fd(skeleton_->maps.tgids); }
int SchedPrograms::losses_fd() const { return bpf_map__fd(skeleton_->maps.losses); }

void SchedPrograms::attach() {
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

void SchedPrograms::detach() {
  const std::lock_guard lock(links_mutex_);
  while (!links_.empty()) links_.pop_back();  // switches first
}

// That takes an interrupt, with a waking of its own, inside a thread's waking of itself: the only one of our programs
// that can be interrupted by another event of its own kind.
uint64_t SchedPrograms::misses() const {
  uint64_t total = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton_->obj) {
    if (bpf_program__fd(program) < 0) continue;
    bpf_prog_info info{};
    uint32_t bytes = sizeof info;
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) == 0) total += info.recursion_misses;
  }
  return total;
}

}  // namespace headway
