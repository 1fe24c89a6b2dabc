// What one agent's file says about reads and writes: of each thread and class the last sums.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "decode/objects/allocation_records.h"
#include "wire/records.h"

namespace headway {

// Of objects whose owner is known by one rule: the thread's own, another one's.
struct OwnedCounts {
  std::array<uint64_t, HW_OWNED_KINDS> local, shared;
};

struct AccessRow {
  uint64_t java_id;     // HW_MANY_THREADS, HW_VIRTUAL_THREADS
  uint32_t group;       // of windows; 0 where there are none
  uint32_t class_name;  // in the texts of AllocationRecords; empty: unknown
  std::array<uint64_t, HW_ACCESS_KINDS> counts;
  OwnedCounts allocator, last_writer;
};

struct AccessPairRow {
  uint64_t java_id;   // as above
  uint64_t owner_id;  // 0: unknown
  std::array<uint64_t, HW_OWNED_KINDS> counts;
};

struct AccessWindowRow {
  uint64_t java_id;
  uint32_t group;
  std::array<uint64_t, HW_WINDOW_SUMS> sums;  // hw_window_sum
};

// The sums of one file.
class AccessRecords {
 public:
  // Takes a record of the agent's file; others than those of accesses are left alone. False: there are too many.
  bool take(const hw_record* record);
  // What `take` of this record would take, bytes, and what comes of it in tables; 0 for others.
  uint64_t cost_of(const hw_record* record) const;
  // Puts the names to numbers that lie among the records of allocations, whose finish() comes behind.
  void finish(const AllocationRecords* names);

  std::vector<AccessRow> rows;              // in no order
  std::vector<AccessPairRow> pairs;         // by the thread that allocated the object
  std::vector<AccessPairRow> writer_pairs;  // by the one that wrote to it last
  std::vector<AccessWindowRow> windows;

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint32_t>;      // java_id, class_id, block
  using PairKey = std::tuple<uint64_t, uint64_t, uint32_t>;  // java_id, owner_id, block
  std::map<Key, hw_access> last_;
  std::map<Key, hw_access_owners> owners_, writers_;
  std::map<PairKey, hw_access_pair> pairs_, writer_pairs_;
  std::map<std::pair<uint64_t, uint32_t>, hw_access_window> windows_;  // java_id, block
};

}  // namespace headway
