#include "decode/objects/node_records.h"

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

// Of a program that means harm: an agent keeps fewer (agent/objects/node_samples.h).
constexpr size_t kMostRows = size_t{1} << 18;
constexpr uint64_t kMost = uint64_t{1} << 58;  // sums of many fit, too
constexpr uint16_t kMostNodes = 1024;

bool is_thread(uint64_t java_id) { return java_id <= INT64_MAX && java_id != 0; }
bool is_node(uint16_t node) { return node < kMostNodes || node == HW_UNKNOWN_NODE; }

bool is_possible(const hw_access_nodes& record) {
  return is_thread(record.java_id) && record.of <= INT64_MAX && record.kind < HW_OWNED_KINDS &&
         is_node(record.cpu_node) && is_node(record.page_node) && record.accesses <= kMost &&
         record.samples <= record.accesses;
}

bool is_of_nodes(const hw_record* record) {
  return record->type == HW_ACCESS_NODES || record->type == HW_ACCESS_NODE_PAIR ||
         record->type == HW_ACCESS_NODE_WRITER_PAIR;
}

}  // namespace

NodeRecords::Key NodeRecords::key_of(const hw_access_nodes& record) {
  return {record.head.type, record.java_id, record.of, record.kind, record.cpu_node, record.page_node};
}

bool NodeRecords::take(const hw_record* record) {
  hw_access_nodes nodes;
  if (!is_of_nodes(record) || !read_as(record, &nodes) || !is_possible(nodes)) return true;
  const Key key = key_of(nodes);
  if (sums_.size() >= kMostRows && !sums_.contains(key)) return false;
  Sums& kept = sums_[key];
  if (nodes.samples >= kept.samples) kept = {nodes.samples, nodes.accesses};
  return true;
}

uint64_t NodeRecords::cost_of(const hw_record* record) const {
  constexpr uint64_t kRow = 400;
  hw_access_nodes nodes;
  if (!is_of_nodes(record) || !read_as(record, &nodes)) return 0;
  return sums_.contains(key_of(nodes)) ? 0 : kRow;
}

void NodeRecords::finish(const AllocationRecords* names) {
  rows.reserve(sums_.size());
  for (const auto& [key, sums] : sums_) {
    const auto& [type, java_id, of, kind, cpu_node, page_node] = key;
    const bool is_pair = type != HW_ACCESS_NODES;
    const uint32_t name = names->name_of(is_pair || of > UINT32_MAX ? 0 : static_cast<uint32_t>(of));
    rows.push_back({java_id, name, is_pair ? of : 0, type, kind, cpu_node, page_node, sums.samples, sums.accesses});
  }
  sums_ = {};
}

}  // namespace headway
