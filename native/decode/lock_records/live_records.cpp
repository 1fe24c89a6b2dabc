#include "decode/lock_records/live_records.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

constexpr uint32_t kMaxChunk = 1 << 20;
constexpr size_t kReadBytes = 1 << 20;
constexpr uint32_t kMostChunks = uint32_t{1} << 18;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // the longest file that an agent writes (agent/core/chunk_file.h)
constexpr uint32_t kRecentChunks = 4096;
constexpr uint32_t kMostFrames = 64;  // kept of a stack (agent/jvm/stacks.cpp)
// A file that means harm names a text of 64 KiB with a few bytes: in thousands of frames, and in every row of the table.
constexpr size_t kMostNameBytes = 260;  // more than live/table_file.py shows: it says that they are cut short

std::string_view shown(std::string_view name) { return name.substr(0, kMostNameBytes); }

size_t read_at(int fd, char* to, size_t bytes, uint64_t offset) {
  size_t have = 0;
  while (have < bytes) {
    const ssize_t got = pread(fd, to + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  return have;
}

bool is_agent_file(const hw_spool_header& header, uint32_t pid) {
  return std::memcmp(header.magic, HW_SPOOL_MAGIC, sizeof header.magic) == 0 && header.version <= HW_SPOOL_VERSION &&
         header.source == HW_SOURCE_AGENT && header.pid == pid && header.chunk_bytes >= sizeof(hw_agent_chunk) &&
         header.chunk_bytes <= kMaxChunk && header.chunk_bytes % 8 == 0;
}

bool is_used(const char* chunk) {
  hw_agent_chunk head;
  std::memcpy(&head, chunk, sizeof head);
  return head.head.type == HW_AGENT_CHUNK && head.used >= sizeof head;
}

}  // namespace

bool LiveRecords::read(int fd, uint32_t pid) {
  hw_spool_header header{};
  const bool is_whole = read_at(fd, reinterpret_cast<char*>(&header), sizeof header, 0) == sizeof header;
  if (!is_whole || !is_agent_file(header, pid)) return false;
  if (chunk_bytes_ == 0) chunk_bytes_ = header.chunk_bytes;
  if (chunk_bytes_ != header.chunk_bytes) return false;
  buffer_.resize(std::max<size_t>(kReadBytes, chunk_bytes_) / sizeof(uint64_t));
  read_on(fd);
  read_new(fd, std::min<uint64_t>(header.next_chunk, kMostBytes));
  std::erase_if(open_, [&](const OpenChunk& open) { return !may_grow(open); });
  return true;
}

// A thread leaves its chunk when the next record no longer fits. Most records are blocks: a chunk without room for one,
// after which many were taken, counts as left. Else nearly every chunk of a long file would be asked for ever. What is
// missed then is a short name that a thread, silent for so long, put there still.
bool LiveRecords::may_grow(const OpenChunk& open) const {
  const uint32_t room = chunk_bytes_ - open.taken;
  return room >= sizeof(hw_block) || (room >= sizeof(hw_record) && open.chunk + kRecentChunks >= chunks_);
}

void LiveRecords::read_on(int fd) {
  char* const bytes = reinterpret_cast<char*>(buffer_.data());
  for (OpenChunk& open : open_) {
    const uint64_t offset = HW_HEADER_BYTES + uint64_t{open.chunk} * chunk_bytes_;
    hw_agent_chunk head{};
    if (read_at(fd, reinterpret_cast<char*>(&head), sizeof head, offset) < sizeof head) continue;
    const uint32_t used = head.head.type == HW_AGENT_CHUNK ? std::min(head.used, chunk_bytes_) : 0;
    if (used <= open.taken) continue;
    open.taken += take_records(bytes, read_at(fd, bytes, used - open.taken, offset + open.taken));
  }
}

// Up to `end`, where the agent says that its next chunk will be, and on while chunks in use follow: without a mapping
// two threads may write that figure one after the other, the lower one last.
void LiveRecords::read_new(int fd, uint64_t end) {
  const uint32_t chunks_at_once = std::max<uint32_t>(1, kReadBytes / chunk_bytes_);
  char* const bytes = reinterpret_cast<char*>(buffer_.data());
  while (chunks_ < kMostChunks) {
    const uint64_t offset = HW_HEADER_BYTES + uint64_t{chunks_} * chunk_bytes_;
    if (offset >= kMostBytes) return;
    const bool is_past = offset >= end;
    const uint64_t left = is_past ? 1 : (end - offset + chunk_bytes_ - 1) / chunk_bytes_;
    const size_t wanted = std::min<uint64_t>(left, chunks_at_once) * chunk_bytes_;
    const size_t have = read_at(fd, bytes, wanted, offset);
    if (is_past && (have < sizeof(hw_agent_chunk) || !is_used(bytes))) return;
    for (size_t at = 0; at + sizeof(hw_agent_chunk) <= have; at += chunk_bytes_) {
      uint32_t taken = sizeof(hw_agent_chunk);
      hw_agent_chunk head;
      std::memcpy(&head, bytes + at, sizeof head);
      const size_t used = std::min<size_t>(head.used, std::min<size_t>(chunk_bytes_, have - at));
      if (is_used(bytes + at)) taken += take_records(bytes + at + taken, used - taken);
      open_.push_back({chunks_++, taken});
    }
    if (have < wanted) return;
  }
}

// Returns how many bytes the whole records have.
uint32_t LiveRecords::take_records(const char* records, size_t bytes) {
  size_t at = 0;
  while (at + sizeof(hw_record) <= bytes) {
    const auto* record = reinterpret_cast<const hw_record*>(records + at);
    if (record->size < sizeof(hw_record) || record->size % 8 != 0 || record->size > bytes - at) break;
    take(record);
    at += record->size;
  }
  return static_cast<uint32_t>(at);
}

void LiveRecords::take(const hw_record* record) {
  switch (record->type) {
    case HW_METHOD:
    case HW_BLOCKER:
      return records_.take(record, 0);
    case HW_STACK:
      records_.take(record, 0);
      if (!records_.stacks.empty()) {
        stack_at_.at(records_.stacks.back().id) = static_cast<uint32_t>(records_.stacks.size());
      }
      return;
    case HW_THREAD_START:
    case HW_THREAD_NAME:
      return on_thread(record);
    case HW_JVM_INFO:
      return on_fact(record);
    default:
      return;
  }
}

void LiveRecords::on_thread(const hw_record* record) {
  hw_thread_start start;
  if (!read_as(record, &start)) return;
  const uint32_t name = records_.texts.add(text_in(record, sizeof start, start.name_bytes));
  const auto [known, is_new] = thread_names_.try_emplace(static_cast<uint32_t>(start.java_id), name);
  if (!is_new && record->type == HW_THREAD_NAME) known->second = name;
}

void LiveRecords::on_fact(const hw_record* record) {
  hw_jvm_info fact;
  if (!read_as(record, &fact) || text_in(record, sizeof fact, fact.key_bytes) != "java.version") return;
  java_version_ = records_.texts.add(text_in(record, sizeof fact + fact.key_bytes, fact.value_bytes));
}

bool LiveRecords::knows(uint32_t blocker_id, uint32_t stack_id) const {
  const BlockerFacts* facts = records_.blockers.find(blocker_id);
  return facts != nullptr && facts->kind != 0 && (stack_id == 0 || knows_stack(stack_id));
}

bool LiveRecords::knows_stack(uint32_t stack_id) const {
  const uint32_t* at = stack_at_.find(stack_id);
  if (at == nullptr || *at == 0) return false;
  const StackFacts& stack = records_.stacks[*at - 1];
  const hw_stack_frame* frames = records_.frames.data() + stack.first_frame;
  return std::all_of(frames, frames + std::min(stack.frames, kMostFrames), [&](const hw_stack_frame& frame) {
    const MethodFacts* method = records_.methods.find(frame.method_id);
    return method != nullptr && method->is_known;
  });
}

bool LiveRecords::first_thread(uint32_t blocker_id, uint32_t java_id, std::string_view* name) const {
  const BlockerFacts* facts = records_.blockers.find(blocker_id);
  if (facts != nullptr && facts->first_thread != 0) {
    *name = shown(records_.texts[facts->first_thread]);
    return true;
  }
  const auto found = thread_names_.find(java_id);
  if (java_id == 0 || found == thread_names_.end()) return false;
  *name = shown(records_.texts[found->second]);
  return true;
}

std::string_view LiveRecords::java_version() const { return shown(records_.texts[java_version_]); }

std::vector<LiveRecords::Frame> LiveRecords::frames(uint32_t stack_id) const {
  const uint32_t* at = stack_id == 0 ? nullptr : stack_at_.find(stack_id);
  if (at == nullptr || *at == 0) return {};
  const StackFacts& stack = records_.stacks[*at - 1];
  std::vector<Frame> found;
  for (uint32_t i = 0; i < std::min(stack.frames, kMostFrames); ++i) {
    const hw_stack_frame& frame = records_.frames[stack.first_frame + i];
    const MethodFacts* method = records_.methods.find(frame.method_id);
    if (method != nullptr && method->is_known) {
      found.push_back({shown(records_.texts[method->class_name]), shown(records_.texts[method->name]), frame.line});
    } else {
      found.push_back({"unknown", "unknown", frame.line});
    }
  }
  return found;
}

}  // namespace headway
