#include "agent/core/backed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace headway::agent {
namespace {

std::array<std::byte, 64 * 1024> zeros;  // never stored to: all of it is the kernel's one page of zeros

}  // namespace

int allocate_space(int fd, uint64_t offset, uint64_t bytes) noexcept {
  for (int tries = 0; tries < 100; ++tries) {
    if (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
  return EINTR;
}

// A store into a page of a btrfs file whose disk is full is a SIGBUS, also where fallocate has succeeded: what is
// written goes to a new place on the disk. Below an overlay btrfs is told by having no count of inodes (ovl_statfs
// passes on all but the type).
bool must_write_through(int fd, int error) noexcept {
  constexpr uint64_t kBtrfs = 0x9123683E;
  constexpr uint64_t kOverlay = 0x794C7630;
  if (error == EOPNOTSUPP || error == ENOSYS) return true;
  struct statfs found {};
  if (fstatfs(fd, &found) != 0) return false;
  const auto type = static_cast<uint64_t>(found.f_type);
  return type == kBtrfs || (type == kOverlay && found.f_files == 0);
}

void bring_into_memory(int fd, uint64_t offset, uint64_t bytes) noexcept {
  for (const uint64_t end = offset + bytes; offset < end;) {
    const auto written =
        pwrite(fd, zeros.data(), std::min<uint64_t>(zeros.size(), end - offset), static_cast<off_t>(offset));
    if (written <= 0) return;
    offset += static_cast<uint64_t>(written);
  }
}

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
