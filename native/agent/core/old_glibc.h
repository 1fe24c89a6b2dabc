// Keeps the agent loadable under older C libraries than the one it was built on (a JVM in a container has its own).
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// dlopen and its kin moved from libdl into libc with glibc 2.34, and so did pthread_mutex_trylock from libpthread;
// under their first version they are found in both. A JVM has loaded either library.
#if defined(__x86_64__)
#define HW_OLD_SYMBOL(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
#elif defined(__aarch64__)
#define HW_OLD_SYMBOL(name) __asm__(".symver " #name "," #name "@GLIBC_2.17")
#else
#define HW_OLD_SYMBOL(name)
#endif
HW_OLD_SYMBOL(dladdr);
HW_OLD_SYMBOL(dlerror);
HW_OLD_SYMBOL(dlopen);
HW_OLD_SYMBOL(dlsym);
HW_OLD_SYMBOL(pthread_mutex_trylock);

namespace headway::agent {

// fstat became a symbol of its own with glibc 2.33.
inline int file_status(int fd, struct stat* status) { return static_cast<int>(syscall(SYS_fstat, fd, status)); }

// statx came with glibc 2.28; and with Linux 4.11: ENOSYS before.
inline int extended_file_status(int fd, const char* name, int flags, unsigned mask, struct statx* status) {
  return static_cast<int>(syscall(SYS_statx, fd, name, flags, mask, status));
}

// pthread_sigmask moved with glibc 2.32. The kernel's set has 64 signals: `before` has to be empty.
inline int set_signal_mask(int how, const sigset_t* set, sigset_t* before) {
  return static_cast<int>(syscall(SYS_rt_sigprocmask, how, set, before, sizeof(uint64_t)));
}

// And timer_create with its kin in 2.34.
inline bool create_timer(clockid_t clock, sigevent& event, int& id) {
  return syscall(SYS_timer_create, clock, &event, &id) == 0;
}
inline bool set_timer(int id, const itimerspec& times) {
  return syscall(SYS_timer_settime, id, 0, &times, nullptr) == 0;
}
inline void delete_timer(int id) { syscall(SYS_timer_delete, id); }

}  // namespace headway::agent
