#include "decode/objects/allocation_records.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

// Of a program that means harm: an agent keeps fewer (agent/objects/allocation_table.h, class_ids.cpp).
constexpr size_t kMostRows = size_t{1} << 17;
constexpr size_t kMostClasses = size_t{1} << 16;
constexpr uint64_t kMost = uint64_t{1} << 61;
constexpr double kMostEstimate = 1e18;
constexpr double kMostVariance = 1e36;

bool is_possible(const hw_allocation& record) {
  if (record.java_id > INT64_MAX || record.objects > kMost || record.bytes > kMost) return false;
  if (record.array_length > kMost) return false;
  for (size_t i = 0; i < std::size(record.estimates); ++i) {
    const auto estimate = std::bit_cast<double>(record.estimates[i]);
    if (!(estimate >= 0 && estimate <= (i < std::size(record.estimates) / 2 ? kMostEstimate : kMostVariance)))
      return false;
  }
  return true;
}

}  // namespace

bool AllocationRecords::take(const hw_record* record) {
  if (record->type == HW_JAVA_CLASS) {
    hw_java_class named;
    if (!read_as(record, &named) || named.class_id == 0) return true;
    if (class_names_.size() >= kMostClasses && !class_names_.contains(named.class_id)) return false;
    class_names_.try_emplace(named.class_id, texts.add(text_in(record, sizeof named, named.name_bytes)));
  } else if (record->type == HW_ALLOCATION) {
    hw_allocation sums;
    if (!read_as(record, &sums) || !is_possible(sums)) return true;
    const Key key{sums.java_id, sums.class_id, sums.stack_id};
    if (last_.size() >= kMostRows && !last_.contains(key)) return false;
    hw_allocation& last = last_.try_emplace(key, sums).first->second;
    if (sums.objects >= last.objects) last = sums;
  }
  return true;
}

uint64_t AllocationRecords::cost_of(const hw_record* record) const {
  constexpr uint64_t kTexts = 3;  // copies of a name: the file's, Python's, the table's
  if (record->type == HW_JAVA_CLASS) return 150 + kTexts * record->size;
  if (record->type != HW_ALLOCATION) return 0;
  constexpr uint64_t kRow = 1500;
  hw_allocation sums;
  if (!read_as(record, &sums)) return 0;
  return last_.contains({sums.java_id, sums.class_id, sums.stack_id}) ? 0 : kRow;
}

void AllocationRecords::finish(const LockRecords& stacks) {
  rows.reserve(last_.size());
  for (const auto& [key, sums] : last_) {
    AllocationRow row{sums.java_id, 0, 0, 0, 0, sums.objects, sums.bytes, sums.array_length, {}};
    for (size_t i = 0; i < row.estimates.size(); ++i) row.estimates[i] = std::bit_cast<double>(sums.estimates[i]);
    row.class_name = name_of(sums.class_id);
    name_site(stacks, sums.stack_id, &row);
    rows.push_back(row);
  }
  last_ = {};
  class_names_ = {};
}

uint32_t AllocationRecords::name_of(uint32_t class_id) const {
  const auto name = class_names_.find(class_id);
  return name == class_names_.end() ? 0 : name->second;
}

void AllocationRecords::name_site(const LockRecords& stacks, uint32_t stack_id, AllocationRow* row) {
  const auto by_id = [](const StackFacts& stack, uint32_t id) { return stack.id < id; };
  const auto found = std::lower_bound(stacks.stacks.begin(), stacks.stacks.end(), stack_id, by_id);
  if (stack_id == 0 || found == stacks.stacks.end() || found->id != stack_id || found->frames == 0) return;
  const hw_stack_frame& frame = stacks.frames[found->first_frame];
  const MethodFacts* method = stacks.methods.find(frame.method_id);
  if (method == nullptr || !method->is_known) return;
  row->site_class = texts.add(stacks.texts[method->class_name]);
  row->site_method = texts.add(stacks.texts[method->name]);
  row->site_line = frame.line;
}

}  // namespace headway
