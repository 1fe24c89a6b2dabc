#include "jfr/file_window.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headway::jfr {
namespace {

constexpr size_t kAfterJump = 16 << 10;

}  // namespace

FileWindow::FileWindow(const std::string& path, size_t window_bytes) : window_bytes_(window_bytes) {
  // Not to wait for a writer: somebody may name a pipe.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts {};
  if (fd_ < 0 || ::fstat(fd_, &facts) != 0) {
    problem_ = std::strerror(errno);
  } else if (!S_ISREG(facts.st_mode)) {
    problem_ = "it is not a regular file";
  } else {
    size_ = static_cast<uint64_t>(facts.st_size);
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
}

FileWindow::~FileWindow() {
  if (fd_ >= 0) ::close(fd_);
}

size_t FileWindow::read(uint64_t offset, uint8_t* into, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd_, into + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // the end, or a file that became shorter since
    done += static_cast<size_t>(got);
  }
  return done;
}

std::span<const uint8_t> FileWindow::load(uint64_t offset, size_t need) {
  if (!problem_.empty() || offset >= size_) return {};
  need = static_cast<size_t>(std::min<uint64_t>(need, size_ - offset));
  if (offset < begin_ || offset + need > begin_ + filled_bytes_) {
    const bool is_jump = offset < begin_ || offset > begin_ + filled_bytes_;
    const size_t window = is_jump ? std::min(window_bytes_, kAfterJump) : window_bytes_;
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(std::max(need, window), size_ - offset));
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    filled_bytes_ = read(offset, buffer_.data(), wanted);
    begin_ = offset;
  }
  const size_t skipped = static_cast<size_t>(offset - begin_);
  return {buffer_.data() + skipped, filled_bytes_ - std::min(filled_bytes_, skipped)};
}

std::vector<uint8_t> FileWindow::copy(uint64_t offset, uint64_t bytes) {
  if (!problem_.empty() || offset > size_ || bytes > size_ - offset) return {};
  std::vector<uint8_t> out(bytes);
  if (read(offset, out.data(), out.size()) != out.size()) out.clear();
  return out;
}

}  // namespace headway::jfr
