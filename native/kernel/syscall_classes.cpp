#include "kernel/syscall_classes.h"

#include <sys/syscall.h>

#include <cstddef>
#include <initializer_list>

namespace headway {
namespace {

// Numbers of calls that the headers at hand may not know yet; the same on every architecture.
constexpr long kFutexWaitv = 449, kFutexWait = 455;

constexpr long kPolls[] = {
    SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_io_getevents, SYS_io_pgetevents, SYS_epoll_pwait2, SYS_io_uring_enter,
#ifdef SYS_poll
    SYS_poll,  SYS_select,   SYS_epoll_wait,
#endif
};

constexpr long kSockets[] = {SYS_accept,   SYS_accept4, SYS_connect, SYS_recvfrom, SYS_recvmsg,
                             SYS_recvmmsg, SYS_sendto,  SYS_sendmsg, SYS_sendmmsg};

// clone and clone3: a thread that makes another one hardly waits, one that makes a process as vfork does waits for it.
constexpr long kChildren[] = {
    SYS_wait4, SYS_waitid, SYS_clone, SYS_clone3,
#ifdef SYS_vfork
    SYS_vfork,
#endif
};

constexpr long kFiles[] = {
    SYS_read,      SYS_write,      SYS_readv,     SYS_writev,          SYS_pread64,
    SYS_pwrite64,  SYS_preadv,     SYS_pwritev,   SYS_preadv2,         SYS_pwritev2,
    SYS_sendfile,  SYS_splice,     SYS_tee,       SYS_vmsplice,        SYS_fsync,
    SYS_fdatasync, SYS_sync,       SYS_syncfs,    SYS_msync,           SYS_sync_file_range,
    SYS_openat,    SYS_openat2,    SYS_close,     SYS_ftruncate,       SYS_truncate,
    SYS_fallocate, SYS_getdents64, SYS_statx,     SYS_fstat,           SYS_newfstatat,
    SYS_unlinkat,  SYS_renameat2,  SYS_mkdirat,   SYS_readlinkat,      SYS_linkat,
    SYS_symlinkat, SYS_readahead,  SYS_fadvise64, SYS_copy_file_range,
#ifdef SYS_open
    SYS_open,      SYS_creat,      SYS_stat,      SYS_lstat,           SYS_unlink,
    SYS_rename,    SYS_mkdir,      SYS_rmdir,     SYS_readlink,        SYS_link,
    SYS_symlink,   SYS_renameat,
#endif
};

}  // namespace

std::array<hw_u8, HW_SYSCALLS> syscall_classes() {
  std::array<hw_u8, HW_SYSCALLS> classes;
  classes.fill(HW_IN_OTHER);
  const auto set = [&](const auto& numbers, int what) {
    for (const long number : numbers) classes.at(static_cast<size_t>(number)) = static_cast<hw_u8>(what);
  };
  set(kPolls, HW_IN_POLL);
  set(kSockets, HW_IN_SOCKET);
  set(kChildren, HW_IN_CHILD);
  set(kFiles, HW_IN_FILE);
  set(std::initializer_list<long>{SYS_nanosleep, SYS_clock_nanosleep}, HW_IN_SLEEP);
  set(std::initializer_list<long>{SYS_futex, kFutexWaitv}, HW_IN_FUTEX | HW_TIMED_BY_4TH);
  set(std::initializer_list<long>{kFutexWait}, HW_IN_FUTEX);
  set(std::initializer_list<long>{SYS_restart_syscall}, HW_IN_UNKNOWN);  // goes on with one of several
  return classes;
}

}  // namespace headway
