#include "decode/lock_records/lock_records.h"

#include <algorithm>
#include <cstring>

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

constexpr uint64_t kFarthest = uint64_t{UINT32_MAX} * 8;

// Names an object of those that are recorded together.
uint64_t object_of(const hw_block& block) { return uint64_t{block.blocker_id} << 32 | block.owner_java_id; }

void use(BlockerUsers* by, const hw_block& block) {
  by->several = by->several || (by->kind != 0 && by->java_id != block.java_id);
  by->java_id = block.java_id;
  by->kind = block.kind;
}

}  // namespace

void LockRecords::take(const hw_record* record, uint64_t offset) {
  switch (record->type) {
    case HW_BLOCK:
      return on_block(record, offset);
    case HW_HOLD:
      return on_hold(record, offset);
    case HW_METHOD:
      return on_method(record);
    case HW_STACK:
      return on_stack(record);
    case HW_BLOCKER:
      return on_blocker(record);
    case HW_BLOCKER_DEAD: {
      hw_blocker_dead dead;
      if (!read_as(record, &dead) || dead.blocker_id == 0) return;
      int64_t& died = died_ns.at(dead.blocker_id);
      if (died == 0 || dead.head.ts_ns < died) died = dead.head.ts_ns;
      if (dead.folded_into != 0) folded_into.at(dead.blocker_id) = dead.folded_into;
      return;
    }
    case HW_WAITING_STACK: {
      hw_waiting_stack one;
      const bool is_known = read_as(record, &one) && one.state >= HW_ST_NATIVE && one.state <= HW_ST_PARK;
      if (is_known && one.stack_id != 0) standing.push_back(one);
      return;
    }
    case HW_LOCKS_CAPPED:
      if (capped_ns == 0 || record->ts_ns < capped_ns) capped_ns = record->ts_ns;
      return;
    default:
      return;
  }
}

uint64_t LockRecords::cost_of(const hw_record* record) {
  constexpr uint64_t kTexts = 3;  // copies of a name: the file's, Python's, the table's
  switch (record->type) {
    case HW_BLOCK:
      return cost_of_block(record);
    case HW_STACK:
      return cost_of_stack(record);
    case HW_METHOD:
      return 150 + kTexts * record->size;
    case HW_BLOCKER:
      return 700 + kTexts * record->size;
    case HW_HOLD:
    case HW_BLOCKER_DEAD:
      return 32;
    case HW_WAITING_STACK:
      return 100;
    default:
      return 0;
  }
}

// An object that was not there yet is a row of its own.
uint64_t LockRecords::cost_of_block(const hw_record* record) const {
  constexpr uint64_t kBlock = 40, kObject = 550;
  hw_block block;
  if (!read_as(record, &block)) return kBlock;
  if ((block.flags & HW_BL_TOGETHER) != 0) {
    return together_by_.contains(object_of(block)) ? kBlock : kBlock + kObject;
  }
  const BlockerUsers* by = users.find(block.blocker_id);
  return by != nullptr && by->kind != 0 ? kBlock : kBlock + kObject;
}

// A frame is a row once for each line of a method.
uint64_t LockRecords::cost_of_stack(const hw_record* record) {
  constexpr uint64_t kStack = 64, kFrame = 24, kNewFrame = 1000;
  hw_stack stack;
  if (!read_as(record, &stack)) return kStack;
  const size_t count = std::min<size_t>(stack.frames, (record->size - sizeof stack) / sizeof(hw_stack_frame));
  uint64_t cost = kStack + count * kFrame;
  for (size_t i = 0; i < count; ++i) {
    uint64_t frame;
    std::memcpy(&frame, reinterpret_cast<const char*>(record) + sizeof stack + i * sizeof frame, sizeof frame);
    if (seen_frames_.insert(frame).second) cost += kNewFrame;
  }
  return cost;
}

void LockRecords::on_method(const hw_record* record) {
  hw_method method;
  if (!read_as(record, &method) || method.method_id == 0) return;
  MethodFacts& facts = methods.at(method.method_id);
  if (facts.is_known) return;
  facts = {texts.add(text_in(record, sizeof method, method.class_bytes)),
           texts.add(text_in(record, sizeof method + method.class_bytes, method.name_bytes)), true};
}

void LockRecords::on_stack(const hw_record* record) {
  hw_stack stack;
  if (!read_as(record, &stack) || stack.stack_id == 0) return;
  const size_t room = (record->size - sizeof stack) / sizeof(hw_stack_frame);
  const size_t count = std::min<size_t>(stack.frames, room);
  stacks.push_back({stack.stack_id, static_cast<uint32_t>(count), frames.size(), stack.is_cut != 0});
  frames.resize(frames.size() + count);
  if (count == 0) return;
  std::memcpy(frames.data() + frames.size() - count, reinterpret_cast<const char*>(record) + sizeof stack,
              count * sizeof(hw_stack_frame));
}

void LockRecords::on_blocker(const hw_record* record) {
  hw_blocker blocker;
  if (!read_as(record, &blocker) || blocker.blocker_id == 0) return;
  if (blocker.kind < HW_BK_PARK || blocker.kind > HW_BK_WAIT) return;
  BlockerFacts& facts = blockers.at(blocker.blocker_id);
  if (facts.kind != 0) return;
  any_blocker = true;
  facts.first_ns = blocker.head.ts_ns;
  facts.identity_hash = blocker.identity_hash;
  facts.first_java_id = blocker.first_java_id;
  facts.first_stack_id = blocker.first_stack_id;
  facts.class_name = texts.add(text_in(record, sizeof blocker, blocker.class_bytes));
  facts.first_thread = texts.add(text_in(record, sizeof blocker + blocker.class_bytes, blocker.name_bytes));
  facts.kind = static_cast<uint16_t>(blocker.kind);
}

void LockRecords::on_block(const hw_record* record, uint64_t offset) {
  hw_block block;
  if (!read_as(record, &block) || block.start_ns < 0 || block.start_ns > record->ts_ns || offset > kFarthest) return;
  if (block.kind < HW_BK_PARK || block.kind > HW_BK_WAIT) return;
  blocks.emplace_back(block.start_ns, offset);
  if ((block.flags & HW_BL_TOGETHER) != 0 && block.blocker_id != 0) return on_together(block);
  use(&users.at(block.blocker_id), block);
}

void LockRecords::on_together(const hw_block& block) {
  const auto [at, is_new] =
      together_by_.try_emplace(object_of(block), static_cast<uint32_t>(std::min<size_t>(together.size(), UINT32_MAX)));
  if (is_new) together.push_back({block.start_ns, block.blocker_id, block.owner_java_id, 0, 0, 0, {}});
  TogetherFacts& facts = together[at->second];
  if (is_new || block.start_ns < facts.first_ns) {
    facts.first_ns = block.start_ns;
    facts.first_java_id = block.java_id;
    facts.first_stack_id = block.stack_id;
  }
  ++facts.blocks;
  use(&facts.users, block);
}

int64_t LockRecords::together_of(const hw_block& block) const {
  if ((block.flags & HW_BL_TOGETHER) == 0) return -1;
  const auto found = together_by_.find(object_of(block));
  return found == together_by_.end() ? -1 : int64_t{found->second};
}

void LockRecords::on_hold(const hw_record* record, uint64_t offset) {
  hw_hold hold;
  if (!read_as(record, &hold) || hold.start_ns < 0 || hold.start_ns > record->ts_ns || offset > kFarthest) return;
  if (hold.blocker_id != 0) holds.emplace_back(hold.start_ns, offset);
}

void LockRecords::finish() {
  seen_frames_ = {};
  std::sort(blocks.begin(), blocks.end());
  std::sort(holds.begin(), holds.end());
  std::stable_sort(stacks.begin(), stacks.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto same = [](const auto& a, const auto& b) { return a.id == b.id; };
  stacks.erase(std::unique(stacks.begin(), stacks.end(), same), stacks.end());
}

}  // namespace headway
