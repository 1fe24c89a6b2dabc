// What one agent's file says about writes by cache lines: of each thread and place the last sums.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "decode/objects/allocation_records.h"
#include "wire/records.h"

namespace headway {

struct LineWritesRow {
  uint64_t java_id;
  uint32_t place_name;  // in the texts of AllocationRecords; empty: unknown
  uint32_t offset;      // of the field in its object; 0: elements of arrays, or unknown
  uint64_t writes;
};

struct LineShareRow {
  uint64_t java_id, other_id;
  uint32_t place_name, other_place_name;
  uint32_t kind;  // hw_line_kind
  bool same_object;
  uint64_t writes;
};

// The sums of one file.
class LineRecords {
 public:
  // Takes a record of the agent's file; others than those of cache lines are left alone. False: there are too many.
  bool take(const hw_record* record);
  // What `take` of this record would take, bytes, and what comes of it in tables; 0 for others.
  uint64_t cost_of(const hw_record* record) const;
  // Puts the names to numbers that lie among the records of allocations, whose finish() comes behind.
  void finish(const AllocationRecords* names);

  std::vector<LineWritesRow> writes;  // in no order
  std::vector<LineShareRow> shares;

 private:
  using WritesKey = std::tuple<uint64_t, uint32_t>;                               // java_id, place
  using ShareKey = std::tuple<uint64_t, uint64_t, uint32_t, uint32_t, uint32_t>;  // both threads, both places, kind
  static WritesKey key_of(const hw_line_writes& sums) { return {sums.java_id, sums.place}; }
  static ShareKey key_of(const hw_line_share& sums);

  std::map<uint32_t, hw_line_place> places_;
  std::map<WritesKey, uint64_t> writes_;
  std::map<ShareKey, uint64_t> shares_;
};

}  // namespace headway
