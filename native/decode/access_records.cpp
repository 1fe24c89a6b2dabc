#include "decode/access_records.h"

#include <algorithm>
#include <numeric>

#include "decode/record_reader.h"

namespace headway {
namespace {

// Of a program that means harm: an agent keeps fewer (agent/objects/access_counters.h).
constexpr size_t kMostRows = size_t{1} << 18;
constexpr uint64_t kMost = uint64_t{1} << 58;  // the sum of all kinds fits, too

bool is_possible(const hw_access& record) {
  return record.java_id <= INT64_MAX && record.java_id != 0 &&
         std::ranges::all_of(record.counts, [](uint64_t count) { return count <= kMost; });
}

uint64_t total(const hw_access& record) {
  return std::accumulate(std::begin(record.counts), std::end(record.counts), uint64_t{0});
}

}  // namespace

bool AccessRecords::take(const hw_record* record) {
  hw_access sums;
  if (record->type != HW_ACCESS || !read_as(record, &sums) || !is_possible(sums)) return true;
  const Key key{sums.java_id, sums.class_id, sums.block};
  if (last_.size() >= kMostRows && !last_.contains(key)) return false;
  hw_access& last = last_.try_emplace(key, sums).first->second;
  if (total(sums) >= total(last)) last = sums;
  return true;
}

uint64_t AccessRecords::cost_of(const hw_record* record) const {
  constexpr uint64_t kRow = 800;
  hw_access sums;
  if (record->type != HW_ACCESS || !read_as(record, &sums)) return 0;
  return last_.contains({sums.java_id, sums.class_id, sums.block}) ? 0 : kRow;
}

void AccessRecords::finish(const AllocationRecords* names) {
  rows.reserve(last_.size());
  for (const auto& [key, sums] : last_) {
    AccessRow row{sums.java_id, names->name_of(sums.class_id), {}};
    std::ranges::copy(sums.counts, row.counts.begin());
    rows.push_back(row);
  }
  last_ = {};
}

}  // namespace headway
