// What one agent's file says about allocations: of each thread, class and site the last sums.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "decode/lock_records/lock_records.h"
#include "decode/reading/text_pool.h"
#include "wire/records.h"

namespace headway {

struct AllocationRow {
  uint64_t java_id;                          // 0: unknown; HW_MANY_THREADS
  uint32_t class_name = 0;                   // in AllocationRecords::texts; empty: unknown, or many classes together
  uint32_t site_class = 0, site_method = 0;  // likewise
  int32_t site_line = 0;                     // as in hw_stack_frame
  uint64_t objects, bytes, array_length;
  std::array<double, 6>
      estimates;  // of all objects, bytes and lengths, then the variances; all 0 where every object was told
};

// The sums of one file.
class AllocationRecords {
 public:
  // Takes a record of the agent's file; others than those of allocations are left alone. False: there are too many.
  bool take(const hw_record* record);
  // What `take` of this record would take, bytes, and what comes of it in tables, as measured; 0 for others.
  uint64_t cost_of(const hw_record* record) const;
  // Puts names to numbers, by the stacks that lie among the records of locks, whose finish() comes before.
  void finish(const LockRecords& stacks);

  // The number in `texts` of a class's name, until finish(); 0: it has none.
  uint32_t name_of(uint32_t class_id) const;

  std::vector<AllocationRow> rows;  // in no order
  TextPool texts;

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint32_t>;  // java_id, class_id, stack_id
  void name_site(const LockRecords& stacks, uint32_t stack_id, AllocationRow* row);

  std::map<Key, hw_allocation> last_;
  std::unordered_map<uint32_t, uint32_t> class_names_;  // in texts, by class_id
};

}  // namespace headway
