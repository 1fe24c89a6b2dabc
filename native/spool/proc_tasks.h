// What /proc says about the threads of a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "wire/records.h"

namespace headway {

// The process whose thread `tid` is; empty when there is no such thread.
std::optional<pid_t> thread_group_of(pid_t tid);

// The tids of the threads of `pid`; empty when it is gone.
std::vector<pid_t> list_threads(pid_t pid);

// The processes below `pid`, parents before their children.
std::vector<pid_t> list_descendants(pid_t pid);

// A thread as it is now, with the time just before it was looked at: an event of that thread that bears a later time is
// newer than this. Empty when it is gone.
std::optional<hw_snapshot> read_snapshot(pid_t pid, pid_t tid);

// The kernel's totals of a thread until now; empty when it is gone.
std::optional<hw_schedstat> read_schedstat(pid_t pid, pid_t tid);

}  // namespace headway
