// The tables of locks, column by column: block, hold, stack, frame and blocker, over all JVMs of a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/lock_tables/kernel_wakers.h"
#include "decode/lock_tables/lock_blockers.h"
#include "decode/lock_tables/lock_cursor.h"
#include "decode/lock_tables/lock_files.h"
#include "decode/reading/text_pool.h"

namespace headway {

// Rows of the table `block`. -1: null, in ids of threads, stacks and Java threads, in times and in is_kernel_waking.
struct BlockColumns {
  std::vector<int32_t> pid, thread_id, blocker_id;
  std::vector<uint8_t> kind;    // hw_blocker_kind
  std::vector<uint16_t> flags;  // hw_block_flags; HW_BL_OPEN also where the end of the recording cut it off
  std::vector<int64_t> start_ns, dur_ns, waking_ns;
  std::vector<int8_t> is_kernel_waking;  // 0: an unpark was seen; 1: none, it is the kernel's waking that is told
  std::vector<int32_t> stack_id, weight, waker_thread_id, waker_stack_id, owner_thread_id;
  std::vector<int64_t> java_id, waker_java_id, owner_java_id;
  size_t size() const { return pid.size(); }
};

struct HoldColumns {
  std::vector<int32_t> blocker_id, thread_id;
  std::vector<int64_t> java_id, start_ns, dur_ns;
  std::vector<uint8_t> by_waking;
  size_t size() const { return blocker_id.size(); }
};

struct StackColumns {
  std::vector<int32_t> stack_id, frame_id;
  std::vector<int16_t> depth;
  std::vector<uint8_t> is_cut;
  size_t size() const { return stack_id.size(); }
};

// Rows of the table `waiting_stack`: threads that stood still (hw_waiting_stack).
struct StandingColumns {
  std::vector<int32_t> pid, thread_id, stack_id;
  std::vector<int64_t> ns;
  std::vector<uint8_t> state;  // hw_standing_in
};

struct FrameRow {
  uint32_t class_name, method;  // in Locks::texts()
  int32_t line;                 // -1: native, -2: unknown
};

// The lock tables of a recording: says what is in them, a batch of rows at a time.
class Locks {
 public:
  explicit Locks(std::vector<LockFile> files) : files_(std::move(files)) {}

  const std::vector<LockFile>& files() const { return files_; }

  // Says who the threads are: jvms[i] those of files()[i], java_of_thread[thread_id] and own[thread_id] (headway's) of
  // all. Blocks outside [start_ns, close_ns of their JVM] are left out, those that end later are cut off.
  // Throws std::invalid_argument when there is not one entry per file, std::logic_error when the pass over the
  // scheduling records has begun: its wakings would not be told.
  void begin(std::vector<JvmThreads> jvms, std::vector<int64_t> java_of_thread, std::vector<uint8_t> own,
             int64_t start_ns);
  // Begins the pass over the scheduling records. Returns who is to be told the kernel's wakings before next_blocks();
  // nullptr: there is nothing that they could tell.
  KernelWakers* begin_pass();

  // The next rows, about `rows`; false when there are none. All blocks, then all holds, then blockers().
  bool next_blocks(size_t rows, BlockColumns* out);
  bool next_holds(size_t rows, HoldColumns* out);
  const LockBlockers& blockers();
  StandingColumns standing() const;  // after begin()
  // The file that each blocker is of, by blocker_id; after begin().
  uint32_t file_of_blocker(int32_t blocker) const { return blockers_.rows()[static_cast<size_t>(blocker)].file; }
  size_t blockers_so_far() const { return blockers_.size(); }

  // Frames are numbered while stacks are given: all stacks, then frames().
  bool next_stacks(size_t rows, StackColumns* out);
  const std::vector<FrameRow>& frames() const { return frames_; }
  const TextPool& texts() const { return texts_; }
  size_t stacks() const;
  // The dense id of a stack, -1 for none.
  int32_t stack_of(uint32_t file, uint32_t stack_id) const;

 private:
  void add_block(const hw_block& block, uint32_t file, uint64_t row, BlockColumns* out);
  void add_waker(const hw_block& block, uint32_t file, const KernelWakers::Waker& woken, BlockColumns* out) const;
  void add_hold(int64_t start_ns, int64_t end_ns, int32_t blocker, int32_t thread, uint32_t java_id, HoldColumns* out);
  bool take_recorded_hold(HoldColumns* out);
  void take_waking_hold(HoldColumns* out);
  int32_t frame_of(uint32_t file, const hw_stack_frame& frame);
  bool is_own(int32_t thread) const;

  std::vector<LockFile> files_;
  std::vector<JvmThreads> jvms_;
  std::vector<int64_t> java_of_thread_;
  std::vector<uint8_t> own_;
  int64_t start_ns_ = 0;
  LockBlockers blockers_;
  bool summed_ = false;
  bool pass_has_begun_ = false;
  std::unique_ptr<KernelWakers> wakers_;
  std::unique_ptr<BlockCursor> blocks_;
  std::unique_ptr<HoldCursor> holds_;
  bool more_holds_ = false;
  size_t next_waking_hold_ = 0;
  std::vector<ById<int32_t>> stack_of_;  // dense id + 1, by file
  uint32_t stack_file_ = 0;
  size_t next_stack_ = 0;
  int32_t next_stack_id_ = 0;
  std::vector<FrameRow> frames_;
  std::unordered_map<std::string, int32_t> frame_by_key_;
  TextPool texts_;
};

}  // namespace headway
