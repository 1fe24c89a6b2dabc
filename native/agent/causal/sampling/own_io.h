// Detects threads that wait in a system call for data that this very process sends: through a pipe, a loopback
// connection or a Unix socket. A thread of the program wakes such a thread, as if it unparked it; one that waits for
// another process's data is woken by nobody here.
#pragma once

#include <cstdint>

namespace headway::agent::causal {

// The thread `tid` of this process, which is asleep. Some system calls; the agent's own thread only.
bool waits_for_this_process(uint32_t tid) noexcept;

}  // namespace headway::agent::causal
