// What the agent's mapped files share: disk space that is really there before it is stored to, and letting a mapping go
// while other threads may still store to it.
#pragma once

#include <cstdint>

namespace headway::agent {

// fallocate that rides out signals (profilers send SIGPROF a thousand times a second). 0, or an errno.
int allocate_space(int fd, uint64_t offset, uint64_t bytes) noexcept;

// True for what allocate_space says where a file system can't allocate ahead (9p, some FUSE and network ones).
bool can_not_allocate_ahead(int error) noexcept;

// What `ulimit -f` leaves: writing past it sends SIGXFSZ, which ends a process that does not expect it.
uint64_t file_size_limit() noexcept;

// Puts zeroed anonymous memory where `at` is mapped, with no moment in which the range is unmapped for other threads.
bool replace_by_zeros(void* at, uint64_t bytes) noexcept;

}  // namespace headway::agent
