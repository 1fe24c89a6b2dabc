// Interning, over all chunks of a file: threads, frames and stacks, each once, with dense ids.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decode/reading/text_pool.h"
#include "jfr/text_budget.h"

namespace headway::jfr {

struct FrameRow {
  uint32_t class_name = 0;  // texts()
  uint32_t method = 0;
  int32_t line = 0;   // 0: unknown
  uint32_t kind = 0;  // the file's own word: "JIT compiled"
  bool operator==(const FrameRow&) const = default;
};

struct ThreadRow {
  int64_t os_tid = 0;   // 0: a virtual thread
  int64_t java_id = 0;  // 0: not a Java thread
  std::string os_name, java_name, group;
  bool is_virtual = false;
};

struct StackRows {
  std::vector<int32_t> stack_id, frame_id;
  std::vector<int16_t> depth;
  std::vector<uint8_t> is_cut;
};

// Threads, frames, stacks and texts of a file, each different one once.
class InternedRows {
 public:
  static constexpr size_t kMostThreads = 1 << 20;      // as in a recording
  static constexpr size_t kMostKeptBytes = 512 << 20;  // of texts and names of threads; what comes then is cut short
  const TextPool& texts() const { return texts_; }
  // The number of a text, which is kept until the file is read.
  uint32_t text(std::string text);
  TextBudget& budget() { return budget_; }
  int32_t frame(const FrameRow& row);
  // Frames with the innermost first. A new stack waits in `take_stacks`; only a fingerprint of it is kept.
  int32_t stack(const std::vector<int32_t>& frames, bool is_cut);
  // -1, and from then on `has_more_threads`, where kMostThreads are known and this is another one.
  int32_t thread(ThreadRow row);
  bool has_more_threads() const { return has_more_threads_; }

  size_t kept_bytes() const { return kept_bytes_; }
  const std::vector<FrameRow>& frames() const { return frames_; }
  const std::vector<ThreadRow>& threads() const { return threads_; }
  size_t waiting_frames() const { return waiting_.stack_id.size(); }
  StackRows take_stacks() { return std::exchange(waiting_, {}); }

 private:
  struct Fingerprint {
    uint64_t a = 0, b = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  struct Hash {
    size_t operator()(const FrameRow& row) const;
    size_t operator()(const Fingerprint& print) const { return static_cast<size_t>(print.a); }
  };
  void cut_short(std::string* text);

  TextPool texts_;
  TextBudget budget_;
  size_t kept_bytes_ = 0;
  std::vector<FrameRow> frames_;
  std::unordered_map<FrameRow, int32_t, Hash> frame_ids_;
  std::unordered_map<Fingerprint, int32_t, Hash> stack_ids_;
  std::vector<ThreadRow> threads_;
  std::map<std::pair<int64_t, int64_t>, int32_t> thread_ids_;
  bool has_more_threads_ = false;
  StackRows waiting_;
};

}  // namespace headway::jfr
