// Keeps the Python module loadable under glibc 2.28 (manylinux_2_28), whatever glibc it was built on. Built here, it
// would ask for newer versions of ten functions; most of the requests come out of the static libstdc++, libgcc, libbpf
// and libelf, so that they are answered at link time: what is defined here, seen by nobody outside, is taken before
// glibc's own.
//
// tests/e2e/record/test_set_up.py reads the symbol versions of what was linked. (The agent has a way of its own:
// agent/core/old_glibc.h.)
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#define HW_LOCAL extern "C" __attribute__((visibility("hidden")))

// Threads moved from libpthread into libc with glibc 2.32 to 2.34, and got a new version there; under the first one
// they are found in both. A Python has loaded either library.
#if defined(__x86_64__)
#define HW_FIRST_VERSION(alias, name) __asm__(".symver " #alias "," #name "@GLIBC_2.2.5")
#elif defined(__aarch64__)
#define HW_FIRST_VERSION(alias, name) __asm__(".symver " #alias "," #name "@GLIBC_2.17")
#else
#error "the first version of glibc's symbols on this processor is not known here"
#endif

extern "C" {
int hw_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument);
int hw_pthread_join(pthread_t thread, void** result);
int hw_pthread_once(pthread_once_t* control, void (*body)());
int hw_pthread_key_create(pthread_key_t* key, void (*destroy)(void*));
int hw_pthread_sigmask(int how, const sigset_t* set, sigset_t* before);
HW_FIRST_VERSION(hw_pthread_create, pthread_create);
HW_FIRST_VERSION(hw_pthread_join, pthread_join);
HW_FIRST_VERSION(hw_pthread_once, pthread_once);
HW_FIRST_VERSION(hw_pthread_key_create, __pthread_key_create);
HW_FIRST_VERSION(hw_pthread_sigmask, pthread_sigmask);
}

HW_LOCAL int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                            void* argument) noexcept {
  return hw_pthread_create(thread, attributes, body, argument);
}
HW_LOCAL int pthread_join(pthread_t thread, void** result) { return hw_pthread_join(thread, result); }
HW_LOCAL int pthread_once(pthread_once_t* control, void (*body)()) { return hw_pthread_once(control, body); }
HW_LOCAL int __pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept {
  return hw_pthread_key_create(key, destroy);
}
HW_LOCAL int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return hw_pthread_sigmask(how, set, before);
}

// 2.33. On the two processors the kernel's struct is glibc's stat, and stat64 the same.
HW_LOCAL int fstat(int fd, struct stat* status) noexcept { return static_cast<int>(syscall(SYS_fstat, fd, status)); }
HW_LOCAL int fstat64(int fd, struct stat64* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, fd, status));
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // a function of the same name as its struct is how POSIX has it
HW_LOCAL int stat(const char* path, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}
HW_LOCAL int lstat(const char* path, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}
#pragma GCC diagnostic pop

// 2.32. libstdc++ counts without atomics where it is not 0. A Python has threads.
extern "C" {
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
}

// 2.35. libgcc looks up with it where to find the unwind tables of an address; before it did so in this way.
namespace {
struct Search {
  uintptr_t address;
  dl_find_object* found;
};

int look_into(dl_phdr_info* object, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  uintptr_t unwind_table = 0;
  uintptr_t start = 0;
  uintptr_t end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t from = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) unwind_table = from;
    if (segment.p_type == PT_LOAD && from <= search.address && search.address < from + segment.p_memsz) {
      start = from;
      end = from + segment.p_memsz;
    }
  }
  if (end == 0) return 0;
  if (unwind_table == 0) return -1;
  search.found->dlfo_map_start = reinterpret_cast<void*>(start);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_link_map = nullptr;  // libgcc does not read it
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(unwind_table);
  return 1;
}
}  // namespace

HW_LOCAL int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
