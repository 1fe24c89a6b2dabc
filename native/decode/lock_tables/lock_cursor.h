// Reads the blocks or the holds of all agents' files in order of their start, some thousand at a time: the records are
// fetched in order of their place in the file, so that the file is read about once, and nothing of it stays in memory.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "decode/lock_tables/lock_files.h"

namespace headway {

template <typename Record, hw_type kType>
class LockCursor {
 public:
  LockCursor(const std::vector<LockFile>& files, std::vector<RecordKey> LockRecords::*keys) {
    for (const LockFile& file : files) sources_.push_back({&(file.records.*keys), 0, &file.path});
  }
  ~LockCursor() { close_file(); }
  LockCursor(const LockCursor&) = delete;
  LockCursor& operator=(const LockCursor&) = delete;

  // Goes to the next record; false at the end.
  bool next() {
    ++row_;
    while (++at_ >= items_.size()) {
      if (!fill()) return false;
      at_ = static_cast<size_t>(-1);
    }
    return true;
  }
  // False when the file no longer holds what it held: then there is no record().
  bool is_valid() const { return items_[at_].is_valid; }
  const Record& record() const { return items_[at_].record; }
  uint32_t file() const { return items_[at_].file; }
  uint64_t row() const { return row_; }  // 0, 1, ...: the same in every pass

 private:
  static constexpr size_t kBatch = 1 << 15;
  static constexpr size_t kWindowBytes = 1 << 14;
  struct Source {
    const std::vector<RecordKey>* keys;
    size_t next;
    const std::string* path;
  };
  struct Item {
    Record record;
    RecordKey key;
    uint32_t file;
    bool is_valid;
  };

  bool fill() {
    items_.clear();
    while (items_.size() < kBatch) {
      Source* first = nullptr;
      for (Source& source : sources_) {
        if (source.next >= source.keys->size()) continue;
        if (first == nullptr || start_of(source) < start_of(*first)) first = &source;
      }
      if (first == nullptr) break;
      items_.push_back({{}, (*first->keys)[first->next++], static_cast<uint32_t>(first - sources_.data()), false});
    }
    order_.resize(items_.size());
    for (uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(items_[a].file, items_[a].key.place) < std::tie(items_[b].file, items_[b].key.place);
    });
    for (const uint32_t i : order_) fetch(&items_[i]);
    close_file();
    return !items_.empty();
  }
  static int64_t start_of(const Source& source) { return (*source.keys)[source.next].start_ns(); }

  // One at a time: there may be more of them than a process may have open. One that is gone has no valid records.
  void open_file(uint32_t file) {
    close_file();
    fd_ = open(sources_[file].path->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    window_file_ = file;
    window_bytes_ = 0;
  }
  void close_file() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    window_file_ = UINT32_MAX;
  }

  void fetch(Item* item) {
    if (item->file != window_file_) open_file(item->file);
    const uint64_t offset = item->key.offset();
    if (offset < window_at_ || offset + sizeof(Record) > window_at_ + window_bytes_) {
      const ssize_t got = pread(fd_, window_.data(), kWindowBytes, static_cast<off_t>(offset));
      window_at_ = offset;
      window_bytes_ = got < 0 ? 0 : static_cast<size_t>(got);
      if (window_bytes_ < sizeof(Record)) return;
    }
    std::memcpy(&item->record, window_.data() + (offset - window_at_), sizeof(Record));
    const Record& record = item->record;
    item->is_valid = record.head.type == kType && record.start_ns == item->key.start_ns() &&
                     record.head.ts_ns >= record.start_ns && record.head.ts_ns <= int64_t{1} << 61;
  }

  std::vector<Source> sources_;
  std::vector<Item> items_;
  std::vector<uint32_t> order_;
  std::vector<char> window_ = std::vector<char>(kWindowBytes);
  uint64_t window_at_ = 0;
  size_t window_bytes_ = 0;
  uint32_t window_file_ = UINT32_MAX;  // that fd_ is of
  int fd_ = -1;
  size_t at_ = static_cast<size_t>(-1);
  uint64_t row_ = static_cast<uint64_t>(-1);
};

// Blocks, in order of their start.
class BlockCursor : public LockCursor<hw_block, HW_BLOCK> {
 public:
  explicit BlockCursor(const std::vector<LockFile>& files) : LockCursor(files, &LockRecords::blocks) {}
};
// Holds, in order of their start.
class HoldCursor : public LockCursor<hw_hold, HW_HOLD> {
 public:
  explicit HoldCursor(const std::vector<LockFile>& files) : LockCursor(files, &LockRecords::holds) {}
};

}  // namespace headway
