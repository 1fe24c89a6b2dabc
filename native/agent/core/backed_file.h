// What the agent's mapped files share: disk space is reserved before it is stored to, and a mapping can be given up while
// other threads may still store to it.
#pragma once

#include <cstdint>

namespace headway::agent {

// fallocate that rides out signals (profilers send SIGPROF a thousand times a second). 0, or an errno.
int allocate_space(int fd, uint64_t offset, uint64_t bytes) noexcept;

// True where a mapping is not safe although space was asked for, so that the file must be written by system calls:
// where a file system can't allocate ahead (9p, some FUSE and network ones; `error` is what allocate_space said), or
// where what it has allocated is no promise (btrfs: each store to a page may need new room).
bool must_write_through(int fd, int error) noexcept;

// Writes zeros to allocated space that nobody has stored to yet, so that its pages are in memory in large pieces: a
// store to a page that is not there costs a thread of the program four microseconds on ext4, this one for each page.
// Whether it succeeds does not matter.
void bring_into_memory(int fd, uint64_t offset, uint64_t bytes) noexcept;

// What `ulimit -f` leaves: writing past it sends SIGXFSZ, which ends a process that does not expect it.
uint64_t file_size_limit() noexcept;

// Puts zeroed anonymous memory where `at` is mapped, with no moment in which the range is unmapped for other threads.
bool replace_by_zeros(void* at, uint64_t bytes) noexcept;

}  // namespace headway::agent
