#include "agent/causal/sampling/own_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/core/clock.h"
#include "agent/core/old_glibc.h"
#include "agent/hotspot/hotspot.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kKeptNs = 1'000'000'000;
constexpr int kMostDescriptors = 4096;  // of which the other end is looked for

// What the thread is in: the descriptor that it reads, or -1. The kernel tells its system call and the arguments.
int descriptor_read(uint32_t tid) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[256];
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  char* next = nullptr;
  const long number = strtol(text, &next, 10);
  if (next == text) return -1;  // "running"
  const unsigned long long first = strtoull(next, &next, 16);
  const unsigned long long second = strtoull(next, nullptr, 16);
  if (number == SYS_read || number == SYS_readv || number == SYS_recvfrom || number == SYS_recvmsg) {
    return static_cast<int>(first);
  }
  bool polls = number == SYS_ppoll;
#ifdef SYS_poll
  polls = polls || number == SYS_poll;
#endif
  pollfd polled{};
  if (!polls || second != 1) return -1;
  if (!safe_read(reinterpret_cast<const void*>(static_cast<uintptr_t>(first)), &polled, sizeof(polled))) return -1;
  return (polled.events & POLLIN) != 0 ? polled.fd : -1;
}

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;

  bool operator==(const Address& other) const {
    return length != 0 && length == other.length && std::memcmp(&bytes, &other.bytes, length) == 0;
  }
};

Address address_of(int socket, bool of_peer) {
  Address address;
  socklen_t length = sizeof(address.bytes);
  auto* const bytes = reinterpret_cast<sockaddr*>(&address.bytes);
  if ((of_peer ? getpeername(socket, bytes, &length) : getsockname(socket, bytes, &length)) == 0) {
    address.length = length;
  }
  return address;
}

// Whether `is_it` holds for a descriptor of this process.
template <typename Test>
bool any_descriptor(Test&& is_it) {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return false;
  bool found = false;
  int count = 0;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    found = is_it(atoi(entry->d_name));
    if (found || ++count > kMostDescriptors) break;
  }
  closedir(folder);
  return found;
}

bool has_writer(const struct stat& pipe) {
  return any_descriptor([&](int other) {
    struct stat status {};
    const int flags = fcntl(other, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && file_status(other, &status) == 0 &&
           status.st_ino == pipe.st_ino && status.st_dev == pipe.st_dev;
  });
}

bool has_peer(int socket) {
  const Address here = address_of(socket, false);
  const Address there = address_of(socket, true);
  if (here.bytes.ss_family == AF_UNIX) {
    ucred peer{};
    socklen_t length = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == getpid();
  }
  if (here.length == 0 || there.length == 0) return false;
  return any_descriptor(
      [&](int other) { return address_of(other, false) == there && address_of(other, true) == here; });
}

bool is_ours(int descriptor, const struct stat& status) {
  if (S_ISFIFO(status.st_mode)) return has_writer(status);
  return S_ISSOCK(status.st_mode) && has_peer(descriptor);
}

struct Known {
  ino_t inode = 0;
  int64_t until_ns = 0;
  bool is_ours = false;
};
std::array<Known, 256> known;  // by descriptor

}  // namespace

bool waits_for_this_process(uint32_t tid) noexcept {
  const int descriptor = descriptor_read(tid);
  struct stat status {};
  if (descriptor < 0 || file_status(descriptor, &status) != 0) return false;
  Known& cached = known[static_cast<size_t>(descriptor) % known.size()];
  const int64_t now_ns = monotonic_ns();
  if (cached.inode != status.st_ino || cached.until_ns < now_ns) {
    cached = {status.st_ino, now_ns + kKeptNs, is_ours(descriptor, status)};
  }
  return cached.is_ours;
}

}  // namespace headway::agent::causal
