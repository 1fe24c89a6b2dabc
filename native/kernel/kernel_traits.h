// What the running kernel's own type information (BTF) says about it, where versions differ.
#pragma once

#include "kernel/sched_shared.h"

namespace headway {

struct KernelTraits {
  bool switch_has_state = false;  // the sched_switch tracepoint passes the previous thread's state (since 5.18)
  bool has_rdonly_cast = false;   // the kfunc bpf_rdonly_cast (since 6.2)
  hw_preempt_count_at preempt_count_at = HW_PREEMPT_COUNT_UNKNOWN;
  long preempt_count_from_rq = 0;  // bytes from a CPU's run queue to its preemption count
};

// Throws CollectorError with step "btf".
KernelTraits read_kernel_traits();

}  // namespace headway
