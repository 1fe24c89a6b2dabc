#include "agent/backed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace headway::agent {

int allocate_space(int fd, uint64_t offset, uint64_t bytes) noexcept {
  for (int tries = 0; tries < 100; ++tries) {
    if (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
  return EINTR;
}

bool can_not_allocate_ahead(int error) noexcept { return error == EOPNOTSUPP || error == ENOSYS; }

uint64_t file_size_limit() noexcept {
  constexpr uint64_t kPage = 4096;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur / kPage * kPage;
}

// The memory is got elsewhere first, where failing is harmless, then moved under the kernel's lock on the address
// space.
bool replace_by_zeros(void* at, uint64_t bytes) noexcept {
  void* fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) return false;
  if (mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at) return true;
  munmap(fresh, bytes);
  return false;
}

}  // namespace headway::agent
