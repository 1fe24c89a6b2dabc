// A file read in windows: memory stays at the window's size, or at that of the largest event where one is larger. What
// is read one after the other is read a window at a time, which fits a cache; after a jump (to a chunk's types, to its
// constants and back) little is: of a file of short chunks all would be read again and again.
// Not mapped: a mapped file that another process cuts off meanwhile kills its reader with SIGBUS.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headway::jfr {

// The part of a file that is in memory.
class FileWindow {
 public:
  explicit FileWindow(const std::string& path, size_t window_bytes = 256 << 10);
  ~FileWindow();
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;

  // Empty, or why nothing can be read.
  const std::string& problem() const { return problem_; }
  uint64_t size() const { return size_; }
  // All that is at hand from `offset` on: at least `need` bytes, fewer only at the file's end. Valid until the next
  // call.
  std::span<const uint8_t> view(uint64_t offset, size_t need) {
    const uint64_t skipped = offset - begin_;  // wraps below the window, and is then longer than it
    if (skipped > filled_bytes_ || need > filled_bytes_ - skipped) return load(offset, need);
    return {buffer_.data() + skipped, filled_bytes_ - static_cast<size_t>(skipped)};
  }
  // A copy of so many bytes; empty when the file has fewer.
  std::vector<uint8_t> copy(uint64_t offset, uint64_t bytes);

 private:
  std::span<const uint8_t> load(uint64_t offset, size_t need);
  size_t read(uint64_t offset, uint8_t* into, size_t bytes);

  std::string problem_;
  int fd_ = -1;
  uint64_t size_ = 0;
  size_t window_bytes_;
  std::vector<uint8_t> buffer_;
  uint64_t begin_ = 0;  // of the buffer's bytes, in the file
  size_t filled_bytes_ = 0;
};

}  // namespace headway::jfr
