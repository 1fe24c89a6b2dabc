// What one agent's file says about accesses by memory node: samples, by the nodes of the CPU and of the page.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "decode/objects/allocation_records.h"
#include "wire/records.h"

namespace headway {

struct NodeRow {
  uint64_t java_id;
  uint32_t class_name;  // in the texts of AllocationRecords; of pairs 0
  uint64_t owner_id;    // of pairs, as in hw_access_pair
  uint32_t type;        // HW_ACCESS_NODES, HW_ACCESS_NODE_PAIR, HW_ACCESS_NODE_WRITER_PAIR
  uint32_t kind, cpu_node, page_node;
  uint64_t samples, accesses;
};

// The sums of one file.
class NodeRecords {
 public:
  // Takes a record of the agent's file; others than those of nodes are left alone. False: there are too many.
  bool take(const hw_record* record);
  // What `take` of this record would take, bytes, and what comes of it in tables; 0 for others.
  uint64_t cost_of(const hw_record* record) const;
  // Puts the names to numbers that lie among the records of allocations, whose finish() comes behind.
  void finish(const AllocationRecords* names);

  std::vector<NodeRow> rows;  // in no order

 private:
  using Key = std::tuple<uint16_t, uint64_t, uint64_t, uint16_t, uint16_t, uint16_t>;
  struct Sums {
    uint64_t samples = 0, accesses = 0;
  };
  static Key key_of(const hw_access_nodes& record);

  std::map<Key, Sums> sums_;
};

}  // namespace headway
