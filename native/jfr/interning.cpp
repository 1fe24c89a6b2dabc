#include "jfr/interning.h"

namespace headway::jfr {
namespace {

constexpr size_t kLongestKept = 1 << 16;  // as in a recording's tables
constexpr size_t kShort = 256;            // where too much is kept

size_t name_bytes(const ThreadRow& row) { return row.os_name.size() + row.java_name.size() + row.group.size(); }

uint64_t mix(uint64_t h, uint64_t value, uint64_t odd) {
  h = (h ^ value) * odd;
  return h ^ (h >> 29);
}

}  // namespace

size_t InternedRows::Hash::operator()(const FrameRow& row) const {
  uint64_t h = mix(row.class_name, row.method, 0x9e3779b97f4a7c15ULL);
  h = mix(h, static_cast<uint32_t>(row.line), 0xc2b2ae3d27d4eb4fULL);
  return static_cast<size_t>(mix(h, row.kind, 0x165667b19e3779f9ULL));
}

int32_t InternedRows::frame(const FrameRow& row) {
  const auto [found, is_new] = frame_ids_.try_emplace(row, static_cast<int32_t>(frames_.size()));
  if (is_new) frames_.push_back(row);
  return found->second;
}

int32_t InternedRows::stack(const std::vector<int32_t>& frames, bool is_cut) {
  Fingerprint print{0x243f6a8885a308d3ULL + frames.size(), is_cut ? 1ULL : 2ULL};
  for (size_t i = 0; i < frames.size(); i += 2) {  // how many there are is in the print already
    const uint64_t next = i + 1 < frames.size() ? static_cast<uint32_t>(frames[i + 1]) : 0;
    const uint64_t two = static_cast<uint32_t>(frames[i]) | (next << 32);
    print.a = mix(print.a, two, 0xff51afd7ed558ccdULL);
    print.b = mix(print.b, two, 0xc4ceb9fe1a85ec53ULL);
  }
  const auto [found, is_new] = stack_ids_.try_emplace(print, static_cast<int32_t>(stack_ids_.size()));
  if (is_new) {
    for (size_t depth = 0; depth < frames.size(); ++depth) {
      waiting_.stack_id.push_back(found->second);
      waiting_.depth.push_back(static_cast<int16_t>(depth));
      waiting_.frame_id.push_back(frames[depth]);
      waiting_.is_cut.push_back(is_cut ? 1 : 0);
    }
  }
  return found->second;
}

void InternedRows::cut_short(std::string* text) {
  const size_t most = kept_bytes_ < kMostKeptBytes ? kLongestKept : kShort;
  if (text->size() > most) *text = budget_.cut(*text, most);
}

uint32_t InternedRows::text(std::string text) {
  cut_short(&text);
  const size_t before = texts_.texts().size();
  const uint32_t id = texts_.add(text);
  if (texts_.texts().size() != before) kept_bytes_ += text.size();
  return id;
}

int32_t InternedRows::thread(ThreadRow row) {
  const std::pair key{row.os_tid, row.java_id};
  if (threads_.size() >= kMostThreads && !thread_ids_.contains(key)) {
    has_more_threads_ = true;
    return -1;
  }
  const auto [found, is_new] = thread_ids_.try_emplace(key, static_cast<int32_t>(threads_.size()));
  if (is_new) threads_.emplace_back();
  ThreadRow& kept = threads_[static_cast<size_t>(found->second)];
  kept_bytes_ -= name_bytes(kept);
  for (std::string* name : {&row.os_name, &row.java_name, &row.group}) cut_short(name);
  kept_bytes_ += name_bytes(row);
  kept = std::move(row);  // its last name, as in every recording
  return found->second;
}

}  // namespace headway::jfr
