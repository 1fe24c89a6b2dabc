#include "spool/spool_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

namespace headway {
namespace {

int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

SpoolWriter::SpoolWriter(const std::string& dir, const std::string& name, hw_source source, hw_producer producer,
                         uint32_t cpu, size_t buffer_bytes, SpoolCounters counted)
    : buffer_(buffer_bytes < 2 * HW_HEADER_BYTES ? 2 * HW_HEADER_BYTES : buffer_bytes) {
  const std::string path = dir + "/" + name;
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
  hw_spool_header header{};
  memcpy(header.magic, HW_SPOOL_MAGIC, sizeof header.magic);
  header.version = HW_SPOOL_VERSION;
  header.source = source;
  header.producer = producer;
  header.cpu = cpu;
  header.created_ns = monotonic_ns();
  header.realtime_ns = clock_ns(CLOCK_REALTIME);
  header.counters = counted.counters;
  header.counter_groups = counted.groups;
  memset(buffer_.data(), 0, HW_HEADER_BYTES);
  memcpy(buffer_.data(), &header, sizeof header);
  used_ = HW_HEADER_BYTES;
  if (!flush()) {
    const int reason = error_;
    ::close(fd_);
    throw std::system_error(reason, std::generic_category(), path);
  }
}

SpoolWriter::~SpoolWriter() {
  flush();
  ::close(fd_);
}

void SpoolWriter::append_bytes(const void* record, size_t bytes) {
  if (used_ + bytes > buffer_.size()) flush();
  if (error_ != 0) {
    ++dropped_;
    return;
  }
  memcpy(buffer_.data() + used_, record, bytes);
  used_ += bytes;
  ++records_buffered_;
}

bool SpoolWriter::flush() {
  if (error_ != 0) return false;
  if (!write_all({buffer_.data(), used_}, offset_)) return give_up(errno, records_buffered_);
  offset_ += used_;
  used_ = records_buffered_ = 0;
  return true;
}

bool SpoolWriter::write_through(std::span<const char> first, std::span<const char> second, size_t records) {
  if (!flush()) {
    dropped_ += records;
    return false;
  }
  if (!write_all(first, offset_) || !write_all(second, offset_ + first.size())) return give_up(errno, records);
  offset_ += first.size() + second.size();
  return true;
}

// Returns false with errno set.
bool SpoolWriter::write_all(std::span<const char> bytes, size_t at) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool SpoolWriter::give_up(int reason, size_t records) {
  error_ = reason;
  // Half a batch may have reached the file: cut it back to where its records are whole.
  if (::ftruncate(fd_, static_cast<off_t>(offset_)) != 0) error_ = errno;
  dropped_ += records;
  used_ = records_buffered_ = 0;
  return false;
}

}  // namespace headway
