#include "agent/core/recording_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>

#include "agent/core/old_glibc.h"

namespace headway::agent {
namespace {

bool is_that(int fd, DirectoryId id, struct stat& status) {
  return file_status(fd, &status) == 0 && status.st_dev == id.device && status.st_ino == id.inode;
}

// Asks nobody but the kernel.
bool is_ours(int place, DirectoryId id) {
  struct statx known {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_MODE | STATX_UID | STATX_INO;
  if (extended_file_status(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &known) != 0) return false;
  return makedev(known.stx_dev_major, known.stx_dev_minor) == id.device && known.stx_ino == id.inode &&
         known.stx_uid == geteuid() && (known.stx_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::string RecordingDirectory::open(const std::string& path, DirectoryId id) noexcept {
  let_go();
  if (!path.starts_with("/proc/")) return path;
  // The number may lead to a directory of anybody's by now, on a file system that answers when it likes: it is compared
  // by what the kernel knows of it, and opened only then.
  const int place = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return {};
  int fd = -1;
  if (is_ours(place, id)) {
    fd = ::open(("/proc/self/fd/" + std::to_string(place)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  close(place);
  struct stat status {};
  if (fd < 0 || !is_that(fd, id, status)) {
    if (fd >= 0) close(fd);
    return {};
  }
  fd_ = fd;
  id_ = id;
  return "/proc/self/fd/" + std::to_string(fd);
}

// A program that closes descriptors it does not own may have given the number to a file of its own.
void RecordingDirectory::let_go() noexcept {
  struct stat status {};
  if (fd_ >= 0 && is_that(fd_, id_, status)) close(fd_);
  fd_ = -1;
}

DirectoryId parse_directory_id(const std::string& text) noexcept {
  char* end = nullptr;
  const uint64_t device = strtoull(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != ':') return {};
  return {device, strtoull(end + 1, nullptr, 10)};
}

}  // namespace headway::agent
