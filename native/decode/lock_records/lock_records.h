// What one agent's file says about locks: the small things whole, of each block and hold only where it is. A file may
// hold 16 million blocks; 12 bytes each are kept here, and the records are read again when their turn comes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decode/reading/by_id.h"
#include "decode/reading/text_pool.h"
#include "wire/records.h"

namespace headway {

// Where a record is and when it begins, in 12 bytes.
struct RecordKey {
  uint32_t start_high, start_low;
  uint32_t place;  // offset in the file / 8

  RecordKey(int64_t start_ns, uint64_t offset)
      : start_high(static_cast<uint32_t>(static_cast<uint64_t>(start_ns) >> 32)),
        start_low(static_cast<uint32_t>(start_ns)),
        place(static_cast<uint32_t>(offset / 8)) {}
  int64_t start_ns() const {
    return static_cast<int64_t>(static_cast<uint64_t>(start_high) << 32 | start_low);  // never negative
  }
  uint64_t offset() const { return uint64_t{place} * 8; }
  bool operator<(const RecordKey& other) const {
    return std::pair(start_ns(), place) < std::pair(other.start_ns(), other.place);
  }
};

struct MethodFacts {
  uint32_t class_name = 0, name = 0;  // in LockRecords::texts
  bool is_known = false;
};

struct StackFacts {
  uint32_t id;
  uint32_t frames;       // how many
  uint64_t first_frame;  // in LockRecords::frames
  bool is_cut;
};

struct BlockerFacts {
  int64_t first_ns = 0;
  uint32_t identity_hash = 0, first_java_id = 0, first_stack_id = 0;
  uint32_t class_name = 0, first_thread = 0;  // in LockRecords::texts
  uint16_t kind = 0;                          // 0: no such record
};

struct BlockerUsers {  // which threads blocked on it; of id 0: in parks without a blocker
  uint32_t java_id = 0;
  uint16_t kind = 0;  // 0: nobody did
  bool several = false;
};

// An object without a blocker of its own (HW_BL_TOGETHER), by its blocks.
struct TogetherFacts {
  int64_t first_ns = 0;
  uint32_t rest_id = 0, identity_hash = 0;
  uint32_t first_java_id = 0, first_stack_id = 0;
  uint32_t blocks = 0;
  BlockerUsers users;
};

// The index of one file's records of locks.
class LockRecords {
 public:
  // Takes a record of the agent's file that begins at `offset`; others than those of locks are left alone.
  void take(const hw_record* record, uint64_t offset);
  // What `take` of this record would take, bytes, and what comes of it in tables, as measured; 0 for others.
  uint64_t cost_of(const hw_record* record);
  // Puts blocks and holds in order of start.
  void finish();

  bool empty() const { return blocks.empty() && holds.empty() && stacks.empty() && !any_blocker; }

  std::vector<RecordKey> blocks, holds;
  ById<MethodFacts> methods;
  std::vector<StackFacts> stacks;  // in order of id, each id once
  std::vector<hw_stack_frame> frames;
  ById<BlockerFacts> blockers;
  std::vector<hw_waiting_stack> standing;
  ById<BlockerUsers> users;
  ById<int64_t> died_ns;       // by blocker; 0: alive
  ById<uint32_t> folded_into;  // by blocker: the one that took over its sums; 0: none
  std::vector<TogetherFacts> together;
  TextPool texts;
  int64_t capped_ns = 0;
  bool any_blocker = false;

  // The place of a block's object in `together`; -1: it has a blocker of its own, or there is none.
  int64_t together_of(const hw_block& block) const;

 private:
  void on_together(const hw_block& block);
  void on_method(const hw_record* record);
  void on_stack(const hw_record* record);
  void on_blocker(const hw_record* record);
  void on_block(const hw_record* record, uint64_t offset);
  void on_hold(const hw_record* record, uint64_t offset);
  uint64_t cost_of_block(const hw_record* record) const;
  uint64_t cost_of_stack(const hw_record* record);

  std::unordered_set<uint64_t> seen_frames_;            // method and line, while the file is read
  std::unordered_map<uint64_t, uint32_t> together_by_;  // place in `together`, by blocker and identity hash
};

}  // namespace headway
