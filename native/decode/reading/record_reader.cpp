#include "decode/reading/record_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace headway {

RecordReader::RecordReader(std::string path, size_t buffer_bytes)
    : path_(std::move(path)), buffer_(std::max<size_t>(buffer_bytes, 1 << 17) / sizeof(uint64_t)) {
  // A recording may be a stranger's: no link to a file of ours, no pipe that keeps us waiting.
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  struct stat status {};
  if (fd_ < 0) {
    problem_ = std::strerror(errno);
  } else if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    problem_ = "it is no ordinary file";
  } else if (!fill(HW_HEADER_BYTES)) {
    problem_ = "its header is cut off";
  } else {
    std::memcpy(&header_, buffer_.data(), sizeof header_);
    begin_ = offset_ = HW_HEADER_BYTES;
    if (std::memcmp(header_.magic, HW_SPOOL_MAGIC, sizeof header_.magic) != 0) {
      problem_ = "it is no spool file";
    } else if (header_.version > HW_SPOOL_VERSION) {
      problem_ = "it was written by a newer headway";
    }
  }
  done_ = !problem_.empty();
}

RecordReader::~RecordReader() {
  if (fd_ >= 0) close(fd_);
}

bool RecordReader::fill(size_t bytes) {
  char* base = reinterpret_cast<char*>(buffer_.data());
  if (end_ - begin_ >= bytes) return true;
  std::memmove(base, base + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < bytes) {
    const ssize_t got = read(fd_, base + end_, buffer_.size() * sizeof(uint64_t) - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    end_ += static_cast<size_t>(got);
  }
  return true;
}

const hw_record* RecordReader::next() {
  if (done_) return nullptr;
  done_ = true;  // unless a whole record follows
  if (!fill(sizeof(hw_record))) return nullptr;
  const size_t size = reinterpret_cast<const hw_record*>(reinterpret_cast<char*>(buffer_.data()) + begin_)->size;
  if (size == 0) return nullptr;  // never written
  if (size < sizeof(hw_record) || size % 8 != 0) {
    problem_ = "it is damaged at byte " + std::to_string(offset_);
    return nullptr;
  }
  if (!fill(size)) return nullptr;  // cut off
  const auto* record = reinterpret_cast<const hw_record*>(reinterpret_cast<char*>(buffer_.data()) + begin_);
  begin_ += size;
  offset_ += size;
  done_ = false;
  return record;
}

}  // namespace headway
