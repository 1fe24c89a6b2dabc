// The rows of the table `blocker`: what the records say of each object, joined with the sums of the live table. A
// blocker without a slot there (forgotten, or the table is lost) gets its sums from its blocks and holds.
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

#include "decode/lock_tables/lock_files.h"
#include "decode/reading/text_pool.h"

namespace headway {

struct BlockerRow {
  int64_t first_ns = INT64_MAX, last_ns = 0;
  int64_t died_ns = -1;
  int64_t times_parked = 0, times_measured = 0;
  int64_t thread_time_ns = 0, real_time_ns = 0;
  int64_t holds = 0, hold_ns = 0;
  uint32_t file = 0, id = 0;  // as its agent numbers it
  uint32_t identity_hash = 0, first_java_id = 0, first_stack_id = 0;
  uint32_t class_name = 0, first_thread = 0;  // in LockBlockers::texts
  uint32_t parked_now = 0, peak_parked = 0;
  int32_t folded_into = -1;  // the row whose slot holds its sums as well
  uint16_t kind = 0;
  bool has_slot = false;
  bool is_once = false;  // waited for once, by its blocks: that one is all of its sums
  bool is_mixed =
      false;  // has a blocker of its own, but not for all of its blocks: some are of a rest (HW_BL_TOGETHER)
  int64_t together = -1;  // place in LockRecords::together: a short-lived object without a blocker of its own
};

// The rows, filled block by block and hold by hold.
class LockBlockers {
 public:
  // Numbers the blockers of all files in order of their first event. Those that none but headway's own threads
  // (own[thread_id]) ever blocked on are left out.
  void number(const std::vector<LockFile>& files, const std::vector<JvmThreads>& jvms, const std::vector<uint8_t>& own);

  size_t size() const { return rows_.size(); }
  const std::vector<BlockerRow>& rows() const { return rows_; }
  const TextPool& texts() const { return texts_; }
  // The row of a blocker, -1 when it was left out.
  int32_t row_of(uint32_t file, uint32_t id) const {
    const int32_t* found = by_file_[file].find(id);
    return found == nullptr ? -1 : *found - 1;
  }
  // The row of a short-lived object by its place in LockRecords::together.
  int32_t row_of_together(uint32_t file, int64_t place) const { return together_[file][static_cast<size_t>(place)]; }
  // The row of the monitor that a thread blocked in `row` must get or get back; -1: none that anybody contended for.
  int32_t monitor_of(int32_t row) const { return monitor_of_[static_cast<size_t>(row)]; }

  // Blocks and holds as they go into the tables, each kind in order of start.
  // `rest`: the row whose slot has it in its sums, where that is another one (HW_BL_TOGETHER); else -1.
  void add_block(int32_t row, int64_t start_ns, int64_t dur_ns, bool is_open, bool is_more, int32_t rest = -1);
  void add_hold(int32_t row, int64_t dur_ns);
  // A hold the agent did not see, so that no slot has it in its sums.
  void add_waking_hold(int32_t row, int64_t dur_ns);
  // Completes the sums once all blocks and holds were added.
  void finish(const std::vector<JvmThreads>& jvms);

 private:
  struct Open {  // blocks on one blocker that had not ended when the last one began
    std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ends;
    int64_t busy_until = 0;
    int64_t own_busy_until = 0;  // of a mixed row: without what a rest has in its sums
  };
  struct Moved {  // what a mixed row has from a rest; real time: in which nobody waited for it that its own sums tell
                  // of
    int64_t times = 0, thread_time_ns = 0, real_time_ns = 0;
  };
  struct Seen {  // by the agent's own records of blocks and holds
    int64_t waking_holds = 0, waking_hold_ns = 0;
    uint32_t open = 0;
  };

  void number_file(uint32_t index, const LockFile& file, const JvmThreads& jvm, const std::vector<uint8_t>& own);
  void number_together(uint32_t index, const LockFile& file, const JvmThreads& jvm, const std::vector<uint8_t>& own,
                       size_t first_row);
  static bool is_own(const BlockerRow& row, const BlockerUsers* users, const JvmThreads& jvm,
                     const std::vector<uint8_t>& own);
  void take_from_rest(int32_t rest, int64_t start_ns, int64_t dur_ns, bool is_open, int64_t waits);
  void count_begun_before();
  void take_folded();
  void finish_row(size_t row, const JvmThreads& jvm);
  void fill(BlockerRow* row, const LockFile& file, const hw_lock_slot* slot);
  void find_monitors();

  std::vector<BlockerRow> rows_;
  std::vector<Seen> seen_;
  std::vector<ById<int32_t>> by_file_;  // row + 1 by id
  // By file and place in LockRecords::together: first the id of the object's blocker, where it has one, then its row.
  std::vector<std::vector<uint32_t>> own_id_;
  std::vector<std::vector<int32_t>> together_;
  std::vector<int32_t> monitor_of_;
  std::unordered_map<int32_t, Open> open_;
  std::unordered_map<int32_t, Moved> moved_;
  std::unordered_map<int32_t, int64_t> rest_busy_until_;  // of what was taken from a rest
  TextPool texts_;
};

}  // namespace headway
