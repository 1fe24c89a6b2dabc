// What a thread waits for in each system call: the table that the kernel program looks numbers up in.
#pragma once

#include <array>

#include "kernel/sched_shared.h"

namespace headway {

// By number; hw_blocked_in, with HW_TIMED_BY_4TH where the fourth argument tells whether there is a timeout.
std::array<hw_u8, HW_SYSCALLS> syscall_classes();

}  // namespace headway
