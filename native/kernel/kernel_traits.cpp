#include "kernel/kernel_traits.h"

#include <bpf/btf.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "kernel/libbpf_log.h"
#include "spool/collector_error.h"

namespace headway {
namespace {

constexpr char kVmlinuxBtf[] = "/sys/kernel/btf/vmlinux";

const btf_type* find(const btf* types, const char* name, uint32_t kind) {
  const int id = btf__find_by_name_kind(types, name, kind);
  return id < 0 ? nullptr : btf__type_by_id(types, static_cast<uint32_t>(id));
}

// The offset in bytes of `field` in `type`, also inside unnamed structs and unions.
std::optional<long> field_offset(const btf* types, const btf_type* type, std::string_view field) {
  if (type == nullptr || !btf_is_composite(type)) return std::nullopt;
  for (uint32_t i = 0; i < btf_vlen(type); ++i) {
    const btf_member& member = btf_members(type)[i];
    const std::string_view name = btf__name_by_offset(types, member.name_off);
    const long at = static_cast<long>(btf_member_bit_offset(type, i) / 8);
    if (name == field) return at;
    if (!name.empty()) continue;
    if (const auto inner = field_offset(types, btf__type_by_id(types, member.type), field)) return at + *inner;
  }
  return std::nullopt;
}

// The offset of a per-CPU variable from the begin of the per-CPU section.
std::optional<long> percpu_offset(const btf* types, const char* name) {
  const btf_type* section = find(types, ".data..percpu", BTF_KIND_DATASEC);
  const int variable = btf__find_by_name_kind(types, name, BTF_KIND_VAR);
  if (section == nullptr || variable < 0) return std::nullopt;
  for (uint32_t i = 0; i < btf_vlen(section); ++i) {
    const btf_var_secinfo& entry = btf_var_secinfos(section)[i];
    if (entry.type == static_cast<uint32_t>(variable)) return static_cast<long>(entry.offset);
  }
  return std::nullopt;
}

// The tracepoint's prototype is void (*)(void *, bool preempt, prev, next[, prev_state]).
bool switch_passes_state(const btf* types) {
  const btf_type* type = find(types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
  while (type != nullptr && (btf_is_typedef(type) || btf_is_ptr(type))) type = btf__type_by_id(types, type->type);
  return type != nullptr && btf_is_func_proto(type) && btf_vlen(type) >= 5;
}

}  // namespace

KernelTraits read_kernel_traits() {
  if (::access(kVmlinuxBtf, R_OK) != 0) throw CollectorError("btf", errno, kVmlinuxBtf);
  const std::unique_ptr<btf, decltype(&btf__free)> owner(btf__load_vmlinux_btf(), btf__free);
  const btf* types = owner.get();
  if (types == nullptr) throw CollectorError("btf", errno, libbpf_log());
  KernelTraits traits;
  traits.switch_has_state = switch_passes_state(types);
  traits.has_rdonly_cast = find(types, "bpf_rdonly_cast", BTF_KIND_FUNC) != nullptr;
  const auto rq = percpu_offset(types, "runqueues");
  const bool rq_reachable = rq && field_offset(types, find(types, "cfs_rq", BTF_KIND_STRUCT), "rq");
  auto count = percpu_offset(types, "__preempt_count");  // up to 6.1, and since 6.15
  if (!count) {
    count = percpu_offset(types, "pcpu_hot");
    const auto within = field_offset(types, find(types, "pcpu_hot", BTF_KIND_STRUCT), "preempt_count");
    count = count && within ? std::optional(*count + *within) : std::nullopt;
  }
  if (rq_reachable && count) {
    traits.preempt_count_at = HW_PREEMPT_COUNT_NEAR_RQ;
    traits.preempt_count_from_rq = *count - *rq;
  } else if (field_offset(types, find(types, "thread_info", BTF_KIND_STRUCT), "preempt_count")) {
    traits.preempt_count_at = HW_PREEMPT_COUNT_IN_TASK;
  }
  return traits;
}

}  // namespace headway
