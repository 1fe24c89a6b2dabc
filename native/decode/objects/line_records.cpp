#include "decode/objects/line_records.h"

#include <algorithm>

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

// Of a program that means harm: an agent keeps fewer (agent/objects/cache_lines.h).
constexpr size_t kMostRows = size_t{1} << 18;
constexpr uint64_t kMost = uint64_t{1} << 58;  // sums of many fit, too

bool is_thread(uint64_t java_id) { return java_id <= INT64_MAX && java_id != 0; }

bool is_possible(const hw_line_place& record) { return record.place != 0 && record.offset <= INT32_MAX; }
bool is_possible(const hw_line_writes& record) { return is_thread(record.java_id) && record.writes <= kMost; }
bool is_possible(const hw_line_share& record) {
  return is_thread(record.java_id) && is_thread(record.other_id) && record.kind < HW_LINE_KINDS &&
         record.same_object <= 1 && record.writes <= kMost;
}

// False: there are too many.
bool keep_larger(auto& sums, const auto& key, uint64_t sum) {
  if (sums.size() >= kMostRows && !sums.contains(key)) return false;
  uint64_t& kept = sums[key];
  kept = std::max(kept, sum);
  return true;
}

}  // namespace

LineRecords::ShareKey LineRecords::key_of(const hw_line_share& sums) {
  const uint32_t kind = uint32_t{sums.kind} << 1 | sums.same_object;
  return {sums.java_id, sums.other_id, sums.place, sums.other_place, kind};
}

bool LineRecords::take(const hw_record* record) {
  hw_line_place place;
  hw_line_writes writes;
  hw_line_share share;
  if (record->type == HW_LINE_PLACE && read_as(record, &place) && is_possible(place)) {
    if (places_.size() >= kMostRows && !places_.contains(place.place)) return false;
    places_[place.place] = place;
  }
  if (record->type == HW_LINE_WRITES && read_as(record, &writes) && is_possible(writes)) {
    return keep_larger(writes_, key_of(writes), writes.writes);
  }
  if (record->type == HW_LINE_SHARE && read_as(record, &share) && is_possible(share)) {
    return keep_larger(shares_, key_of(share), share.writes);
  }
  return true;
}

uint64_t LineRecords::cost_of(const hw_record* record) const {
  constexpr uint64_t kRow = 400;
  hw_line_place place;
  hw_line_writes writes;
  hw_line_share share;
  if (record->type == HW_LINE_PLACE && read_as(record, &place)) return places_.contains(place.place) ? 0 : kRow;
  if (record->type == HW_LINE_WRITES && read_as(record, &writes)) return writes_.contains(key_of(writes)) ? 0 : kRow;
  if (record->type == HW_LINE_SHARE && read_as(record, &share)) return shares_.contains(key_of(share)) ? 0 : kRow;
  return 0;
}

void LineRecords::finish(const AllocationRecords* names) {
  const auto name_of = [&](uint32_t place) {
    const auto found = places_.find(place);
    return names->name_of(found == places_.end() ? 0 : found->second.name_id);
  };
  for (const auto& [key, sum] : writes_) {
    const auto& [java_id, place] = key;
    const auto found = places_.find(place);
    writes.push_back({java_id, name_of(place), found == places_.end() ? 0 : found->second.offset, sum});
  }
  for (const auto& [key, sum] : shares_) {
    const auto& [java_id, other_id, place, other_place, kind] = key;
    shares.push_back({java_id, other_id, name_of(place), name_of(other_place), kind >> 1, (kind & 1) != 0, sum});
  }
  places_ = {};
  writes_ = {};
  shares_ = {};
}

}  // namespace headway
