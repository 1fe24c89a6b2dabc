// Reads the records of one spool file from front to back through a small buffer, trusting nothing in it: a spool may
// have been cut off by the death of its writer, and a damaged one must end in a message, never in a crash.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "wire/records.h"

namespace headway {

// A spool file, open for one reading.
class RecordReader {
 public:
  explicit RecordReader(std::string path, size_t buffer_bytes = 1 << 18);
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  const std::string& path() const { return path_; }
  const hw_spool_header& header() const { return header_; }
  // Empty, or why the file, or its rest, was not read.
  const std::string& problem() const { return problem_; }

  // The next record, or nullptr at the end. It is whole (head.size bytes, at least a head) and valid until the next
  // call.
  const hw_record* next();
  // Where in the file the record that next() returns next begins.
  uint64_t offset() const { return offset_; }

 private:
  bool fill(size_t bytes);  // has at least so many bytes ready, or the file ends before

  std::string path_;
  std::string problem_;
  hw_spool_header header_{};
  int fd_ = -1;
  std::vector<uint64_t> buffer_;  // 64-bit words, so that records lie aligned
  size_t begin_ = 0, end_ = 0;    // bytes of the buffer not yet consumed
  uint64_t offset_ = 0;
  bool done_ = false;
};

// Copies a record into `out` when it is long enough to be one; a longer one is of a newer writer that added fields.
template <typename T>
bool read_as(const hw_record* record, T* out) {
  if (record->size < sizeof(T)) return false;
  std::memcpy(out, record, sizeof(T));
  return true;
}

// Whether a number may be the id of a process or a thread; another one is damage.
inline bool is_id(uint32_t id) { return id <= INT32_MAX; }

// `bytes` bytes of text at `offset` of a record, or fewer where it ends.
inline std::string_view text_in(const hw_record* record, size_t offset, size_t bytes) {
  const size_t size = record->size;
  if (offset >= size) return {};
  return {reinterpret_cast<const char*>(record) + offset, std::min(bytes, size - offset)};
}

}  // namespace headway
