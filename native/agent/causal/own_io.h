// Who waits in a system call for data that this very process sends: through a pipe, a loopback connection, a Unix
// socket. Such a thread is woken by a thread of the program, as one that is unparked is.
#pragma once

#include <cstdint>

namespace headway::agent::causal {

// The thread `tid` of this process, which is asleep. Some system calls; the agent's own thread only.
bool waits_for_this_process(uint32_t tid) noexcept;

}  // namespace headway::agent::causal
