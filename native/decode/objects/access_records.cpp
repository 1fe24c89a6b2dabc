#include "decode/objects/access_records.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

// Of a program that means harm: an agent keeps fewer (agent/objects/access_counters.h).
constexpr size_t kMostRows = size_t{1} << 18;
constexpr uint64_t kMost = uint64_t{1} << 58;  // the sum of all kinds fits, too

using Key = std::tuple<uint64_t, uint32_t, uint32_t>;

bool is_count(uint64_t count) { return count <= kMost; }
bool is_thread(uint64_t java_id) { return java_id <= INT64_MAX && java_id != 0; }

Key key_of(const auto& record) { return {record.java_id, record.class_id, record.block}; }

uint64_t total(std::span<const uint64_t> counts) { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

uint64_t total(const hw_access& record) { return total(record.counts); }
uint64_t total(const hw_access_owners& record) { return total(record.local) + total(record.shared); }
uint64_t total(const hw_access_pair& record) { return total(record.counts); }
uint64_t total(const hw_access_window& record) {
  return record.sums[HW_CPU_IN] + record.sums[HW_CPU_BETWEEN] + record.sums[HW_MARKS];
}

bool is_possible(const hw_access& record) {
  return is_thread(record.java_id) && std::ranges::all_of(record.counts, is_count);
}
bool is_possible(const hw_access_owners& record) {
  return is_thread(record.java_id) && std::ranges::all_of(record.local, is_count) &&
         std::ranges::all_of(record.shared, is_count);
}
bool is_possible(const hw_access_pair& record) {
  return is_thread(record.java_id) && record.owner_id <= INT64_MAX && std::ranges::all_of(record.counts, is_count);
}

bool is_possible(const hw_access_window& record) {
  return is_thread(record.java_id) && std::ranges::all_of(record.sums, is_count);
}

uint32_t group_of(uint32_t block) { return block >> HW_WINDOW_GROUP_SHIFT; }

// An owner of no more accesses than there are: the rest is of unknown ones.
OwnedCounts owned_of(const hw_access_owners& owners, const AccessRow& row) {
  OwnedCounts owned{};
  for (size_t kind = 0; kind < HW_OWNED_KINDS; ++kind) {
    owned.local[kind] = std::min<uint64_t>(owners.local[kind], row.counts[kind]);
    owned.shared[kind] = std::min<uint64_t>(owners.shared[kind], row.counts[kind] - owned.local[kind]);
  }
  return owned;
}

void add_pairs(const auto& last, std::vector<AccessPairRow>& out) {
  out.reserve(last.size());
  for (const auto& [key, pair] : last) {
    AccessPairRow row{pair.java_id, pair.owner_id, {}};
    std::ranges::copy(pair.counts, row.counts.begin());
    out.push_back(row);
  }
}

bool is_of_owners(const hw_record* record) {
  return record->type == HW_ACCESS_OWNERS || record->type == HW_ACCESS_WRITERS;
}
bool is_of_pair(const hw_record* record) {
  return record->type == HW_ACCESS_PAIR || record->type == HW_ACCESS_WRITER_PAIR;
}

// False: there are too many.
bool keep_later(auto& last, const auto& key, const auto& sums) {
  if (last.size() >= kMostRows && !last.contains(key)) return false;
  auto& kept = last.try_emplace(key, sums).first->second;
  if (total(sums) >= total(kept)) kept = sums;
  return true;
}

}  // namespace

bool AccessRecords::take(const hw_record* record) {
  hw_access sums;
  hw_access_owners owners;
  hw_access_pair pair;
  if (record->type == HW_ACCESS && read_as(record, &sums) && is_possible(sums)) {
    return keep_later(last_, key_of(sums), sums);
  }
  if (is_of_owners(record) && read_as(record, &owners) && is_possible(owners)) {
    return keep_later(record->type == HW_ACCESS_OWNERS ? owners_ : writers_, key_of(owners), owners);
  }
  if (is_of_pair(record) && read_as(record, &pair) && is_possible(pair)) {
    const PairKey key{pair.java_id, pair.owner_id, pair.block};
    return keep_later(record->type == HW_ACCESS_PAIR ? pairs_ : writer_pairs_, key, pair);
  }
  hw_access_window window;
  if (record->type == HW_ACCESS_WINDOW && read_as(record, &window) && is_possible(window)) {
    return keep_later(windows_, std::pair{window.java_id, window.block}, window);
  }
  return true;
}

uint64_t AccessRecords::cost_of(const hw_record* record) const {
  constexpr uint64_t kRow = 800;
  hw_access sums;
  hw_access_owners owners;
  hw_access_pair pair;
  if (record->type == HW_ACCESS && read_as(record, &sums)) return last_.contains(key_of(sums)) ? 0 : kRow;
  hw_access_window window;
  if (record->type == HW_ACCESS_WINDOW && read_as(record, &window)) {
    return windows_.contains({window.java_id, window.block}) ? 0 : kRow;
  }
  if (is_of_owners(record) && read_as(record, &owners)) {
    return (record->type == HW_ACCESS_OWNERS ? owners_ : writers_).contains(key_of(owners)) ? 0 : kRow;
  }
  if (!is_of_pair(record) || !read_as(record, &pair)) return 0;
  const auto& known = record->type == HW_ACCESS_PAIR ? pairs_ : writer_pairs_;
  return known.contains({pair.java_id, pair.owner_id, pair.block}) ? 0 : kRow;
}

void AccessRecords::finish(const AllocationRecords* names) {
  rows.reserve(last_.size());
  for (const auto& [key, sums] : last_) {
    AccessRow row{sums.java_id, group_of(sums.block), names->name_of(sums.class_id), {}, {}, {}};
    std::ranges::copy(sums.counts, row.counts.begin());
    if (const auto owners = owners_.find(key); owners != owners_.end()) row.allocator = owned_of(owners->second, row);
    if (const auto last = writers_.find(key); last != writers_.end()) row.last_writer = owned_of(last->second, row);
    rows.push_back(row);
  }
  add_pairs(pairs_, pairs);
  add_pairs(writer_pairs_, writer_pairs);
  for (const auto& [key, window] : windows_) {
    AccessWindowRow row{window.java_id, group_of(window.block), {}};
    std::ranges::copy(window.sums, row.sums.begin());
    windows.push_back(row);
  }
  last_ = {};
  windows_ = {};
  owners_ = writers_ = {};
  pairs_ = writer_pairs_ = {};
}

}  // namespace headway
