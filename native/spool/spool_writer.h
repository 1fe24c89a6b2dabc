// One append-only file of the spool: a header, then records, written in large batches by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/records.h"
#include "wire/spool_counters.h"

namespace headway {

// CLOCK_MONOTONIC now, in nanoseconds.
int64_t monotonic_ns();

// A spool file while it is written.
class SpoolWriter {
 public:
  // Creates `dir`/`name` (refuses one that exists) and writes its header. Throws std::system_error.
  SpoolWriter(const std::string& dir, const std::string& name, hw_source source, hw_producer producer, uint32_t cpu = 0,
              size_t buffer_bytes = 256 << 10, SpoolCounters counted = {});
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Buffers one record, whose head.size is set. Once the disk refused a write, records are counted as dropped instead:
  // what is in the file by then ends at a whole record and stays readable.
  template <typename Record>
  void append(const Record& record) {
    append_bytes(&record, record.head.size);
  }
  void append_bytes(const void* record, size_t bytes);

  // Writes whole records that lie in memory in one or two stretches, without copying them first; `records` is their
  // number. Returns as flush() does.
  bool write_through(std::span<const char> first, std::span<const char> second, size_t records);

  // Hands what is buffered to the kernel: from then on it survives the death of this process. Returns false, and keeps
  // the reason in error(), when the disk is full or gone.
  bool flush();

  uint64_t bytes_written() const { return offset_; }
  uint64_t records_dropped() const { return dropped_; }
  int error() const { return error_; }  // errno of the first write that failed, or 0

 private:
  bool write_all(std::span<const char> bytes, size_t at);
  bool give_up(int reason, size_t records);

  std::vector<char> buffer_;
  size_t used_ = 0;
  size_t records_buffered_ = 0;
  uint64_t offset_ = 0;  // bytes in the file, always at a record boundary
  uint64_t dropped_ = 0;
  int fd_ = -1;
  int error_ = 0;
};

}  // namespace headway
