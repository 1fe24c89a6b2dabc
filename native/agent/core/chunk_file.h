// The agent's spool file: a memory-mapped sequence of chunks. A thread takes a chunk with one fetch_add and fills it
// without locks or system calls; a record counts once `used` of its chunk, stored after it, covers it. What is written
// survives the death of the JVM, because the kernel owns the pages.
//
// Never SIGBUS: a store into a mapped page that the file system can't back kills the process. So disk space is really
// allocated (fallocate) before a chunk in it is handed out; where the file system can't allocate ahead, records go
// through pwrite instead of the mapping; when the disk is full the file falls silent and counts what it lost. A file
// that somebody cuts off ends the recording, not the process (file_guard.h).
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/core/file_guard.h"
#include "wire/records.h"

namespace headway::agent {

// A thread's place in the file. Lives in thread-local storage; zero-initialised means "no chunk yet".
struct ThreadSlot {
  uint64_t file_id = 0;  // ChunkFile::id() of the file `offset` is meant for
  uint64_t offset = 0;   // of the chunk; 0: none
  uint32_t used = 0;     // bytes of the chunk that hold records, head included
  uint32_t tid = 0;
  bool busy = false;  // a record is being written: a signal handler that interrupts it must not write one
};

// The spool file of one recording in this JVM.
class ChunkFile {
 public:
  static constexpr uint32_t kChunkBytes = 4096;
  static constexpr uint64_t kSegmentBytes = 256 * 1024;  // allocated at a time
  static constexpr uint64_t kMapBytes = 1ULL << 30;      // address space, hence the longest file

  ChunkFile() = default;
  ~ChunkFile();
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;

  // Creates DIR/agent-<pid>.spool (or agent-<pid>.2.spool, ... when that name is taken, as after a second attach).
  // `map_bytes` bounds the file. Returns false, with nothing left behind, when there is no room or no permission.
  bool create(const std::string& directory, pid_t pid, bool no_map = false, uint64_t map_bytes = kMapBytes) noexcept;

  // Before `create`: opens the empty file that the recorder has made and holds open, instead of making one. Then nobody
  // else's file can come between the two.
  void open_existing() noexcept { opens_existing_ = true; }

  const std::string& path() const { return path_; }
  uint64_t id() const { return id_; }

  // How late `stop` may be seen where nothing is mapped.
  static constexpr int64_t kLookEveryNs = 1'000'000;

  // True while records are wanted: the recorder has not set `stop`, release() was not called, and the file is whole.
  bool recording() const noexcept;
  // Somebody has cut the file off, or the disk has lost a part of it.
  bool is_cut() const noexcept { return cut_.load(std::memory_order_acquire); }

  // Makes room for a record of `bytes` (a multiple of 8) in the slot's chunk and returns it, or nullptr, counted as
  // lost. Every begin() that returns a record is followed by commit() with the same size, on the same thread.
  void* begin(ThreadSlot& slot, uint32_t bytes) noexcept {
    if (slot.busy || slot.file_id != id_ || slot.offset == 0 || slot.used + bytes > kChunkBytes) {
      return begin_chunk(slot, bytes);
    }
    slot.busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return base_ + slot.offset + slot.used;
  }
  void commit(ThreadSlot& slot, uint32_t bytes) noexcept {
    if (through_) write_through(slot.offset + slot.used, base_ + slot.offset + slot.used, bytes);
    slot.used += bytes;
    hw_u32& used = chunk_at(slot.offset)->used;
    std::atomic_ref<hw_u32>(used).store(slot.used, std::memory_order_release);
    if (through_) write_through(slot.offset + offsetof(hw_agent_chunk, used), &used, sizeof(used));
    std::atomic_signal_fence(std::memory_order_seq_cst);
    slot.busy = false;
  }

  // Gives the rest of an ending thread's chunk to the next new thread, so that 10,000 short threads don't take 40 MB.
  void retire(ThreadSlot& slot) noexcept;

  // Lets go of the file while threads may still be writing: the mapping is replaced by anonymous memory at the same
  // address, where late stores do no harm. The address range stays taken.
  void release() noexcept;
  // The recorder may wait for release().
  void will_tell_its_end() noexcept { tell_end(HW_CLOSE_PENDING); }
  // What was written is the file's business from now on: its pages no longer count as the program's memory. A thread
  // that goes on writing in its chunk gets that page back. Any time.
  void let_pages_go() const noexcept;

  uint64_t lost() const noexcept;
  void count_lost() noexcept;  // a record that was not written

  // True once so many eighths of the longest file are used, or the disk is full: records that others can do without
  // leave the rest to those that they can't.
  bool used_past(uint64_t eighths) const noexcept {
    return full_.load(std::memory_order_relaxed) || next_.load(std::memory_order_relaxed) >= longest_ / 8 * eighths;
  }

 private:
  static constexpr int kRetired = 16;

  void* begin_chunk(ThreadSlot& slot, uint32_t bytes) noexcept;
  bool open_file(const std::string& directory, pid_t pid) noexcept;
  bool map_file(uint64_t map_bytes) noexcept;
  void write_header(pid_t pid) noexcept;
  void discard() noexcept;
  uint64_t take_retired(uint32_t bytes) noexcept;
  void let_chunk_go(uint64_t offset) const noexcept;  // nobody writes there any more
  uint64_t take_chunk() noexcept;
  bool ensure_backed(uint64_t end) noexcept;
  bool extend() noexcept;
  bool same_file() const noexcept;
  bool is_whole(uint64_t bytes) const noexcept;
  void give_up() const noexcept;
  void look_at_file() const noexcept;
  void mark_chunk(uint64_t offset) noexcept;
  bool has_marked_chunk() const noexcept;
  void write_through(uint64_t offset, const void* data, size_t bytes) noexcept;
  void tell_lost(hw_u64 lost) noexcept;
  void tell_end(hw_u32 end) noexcept;
  hw_spool_header* header() const noexcept { return reinterpret_cast<hw_spool_header*>(base_); }
  hw_agent_chunk* chunk_at(uint64_t offset) const noexcept { return reinterpret_cast<hw_agent_chunk*>(base_ + offset); }

  // What every record needs comes first, in one line of the cache.
  alignas(64) std::byte* base_ = nullptr;
  uint64_t id_ = 0;
  uint64_t longest_ = 0;            // what map_bytes_ was before release()
  std::atomic<uint64_t> next_{0};   // mirrored in the header for readers, authoritative here
  std::atomic<uint64_t> limit_{0};  // chunks that end at or before this offset are backed
  bool through_ = false;            // base_ is anonymous memory; records also go through pwrite
  mutable std::atomic<bool> full_{false};
  std::atomic<bool> extending_{false};
  mutable std::atomic<bool> cut_{false};
  std::atomic<uint64_t> marked_{0};            // the last chunk in the file that was begun; 0: none
  mutable FileGuard guard_;                    // of base_, unless through_
  mutable std::atomic<int64_t> looked_ns_{0};  // through_: at the file
  std::atomic<uint64_t> written_{0};           // through_: so long is the file at least
  uint64_t map_bytes_ = 0;
  bool opens_existing_ = false;
  std::string path_;
  int fd_ = -1;
  dev_t dev_ = 0;
  ino_t ino_ = 0;
  std::atomic<bool> lost_unreported_{false};  // the header refused the count of what was lost
  std::atomic<bool> released_{false};
  std::array<std::atomic<uint64_t>, kRetired> retired_{};
};

}  // namespace headway::agent
