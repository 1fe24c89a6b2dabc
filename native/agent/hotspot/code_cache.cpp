#include "agent/hotspot/code_cache.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "agent/hotspot/hotspot.h"
#include "agent/hotspot/vm_tables.h"

namespace headway::agent {
namespace {

constexpr uint8_t kFreeSegment = 0xff;
constexpr int32_t kMostFrameWords = 1 << 16;
constexpr size_t kMostSteps = 1 << 16;  // back to a block's first segment, each up to 254 segments long

template <typename T>
T load_at(const char* address) noexcept {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

struct Tables {
  CodeLayout layout;
  const char* heaps = nullptr;  // GrowableArray<CodeHeap*>*
  int64_t list_length = 0;
  int64_t list_data = CodeLayout::kUnknown;
};

void note_field(std::string_view type, std::string_view field, int64_t offset, const char* address, Tables& found) {
  CodeLayout& layout = found.layout;
  struct Wanted {
    std::string_view type;
    std::string_view field;
    int64_t* offset;
  };
  const Wanted wanted[] = {{"CodeHeap", "_memory", &layout.heap_memory},
                           {"CodeHeap", "_segmap", &layout.heap_segments},
                           {"CodeHeap", "_log2_segment_size", &layout.heap_log2_size},
                           {"VirtualSpace", "_low", &layout.space_low},
                           {"VirtualSpace", "_high", &layout.space_high},
                           {"HeapBlock::Header", "_used", &layout.block_used},
                           {"CodeBlob", "_name", &layout.blob_name},
                           {"CodeBlob", "_frame_size", &layout.blob_frame},
                           {"CodeBlob", "_frame_complete_offset", &layout.blob_frame_begin},
                           {"CodeBlob", "_code_begin", &layout.blob_code_begin},
                           {"CodeBlob", "_code_end", &layout.blob_code_end},
                           {"CodeBlob", "_code_offset", &layout.blob_code_offset},
                           {"CodeBlob", "_data_offset", &layout.blob_data_offset},
                           {"nmethod", "_compile_id", &layout.compile_id},
                           {"GrowableArrayBase", "_len", &found.list_length},
                           {"GrowableArray<int>", "_data", &found.list_data}};
  for (const Wanted& each : wanted) {
    if (type == each.type && field == each.field) *each.offset = offset;
  }
  if (type == "CodeCache" && field == "_heaps" && address != nullptr) found.heaps = load_at<const char*>(address);
}

Tables read_tables() {
  Tables found;
  for_each_vm_field([&found](std::string_view type, std::string_view field, int64_t offset, const char* address) {
    note_field(type, field, offset, address, found);
  });
  found.layout.block_bytes = vm_type_size("HeapBlock");
  return found;
}

bool is_compiled(std::string_view name) { return name == "nmethod" || name == "native nmethod"; }

}  // namespace

bool CodeCache::is_complete() const noexcept {
  const CodeLayout& l = layout_;
  const bool has_code =
      (l.blob_code_begin >= 0 && l.blob_code_end >= 0) || (l.blob_code_offset >= 0 && l.blob_data_offset >= 0);
  return l.heap_memory >= 0 && l.heap_segments >= 0 && l.heap_log2_size >= 0 && l.space_low >= 0 && l.space_high >= 0 &&
         l.block_used >= 0 && l.block_bytes > 0 && l.blob_name >= 0 && l.blob_frame >= 0 && has_code;
}

bool CodeCache::load() noexcept {
  count_ = 0;
  const Tables found = read_tables();
  if (found.heaps == nullptr || found.list_data < 0) return false;
  const auto length = load_at<int32_t>(found.heaps + found.list_length);
  const char* const data = load_at<const char*>(found.heaps + found.list_data);
  if (data == nullptr || length <= 0) return false;
  std::array<const char*, kMostHeaps> heaps{};
  const size_t count = std::min<size_t>(static_cast<size_t>(length), heaps.size());
  for (size_t i = 0; i < count; ++i) heaps[i] = load_at<const char*>(data + i * sizeof(char*));
  return load(found.layout, heaps.data(), count);
}

bool CodeCache::load(const CodeLayout& layout, const char* const* heaps, size_t count) noexcept {
  layout_ = layout;
  count_ = 0;
  if (!is_complete() || count > heaps_.size()) return false;
  std::copy(heaps, heaps + count, heaps_.begin());
  count_ = count;
  return count != 0;
}

bool CodeCache::contains(uintptr_t pc) const noexcept {
  for (size_t i = 0; i < count_; ++i) {
    const char* const memory = heaps_[i] + layout_.heap_memory;
    if (pc >= load_at<uintptr_t>(memory + layout_.space_low) && pc < load_at<uintptr_t>(memory + layout_.space_high)) {
      return true;
    }
  }
  return false;
}

Blob CodeCache::blob_at(const char* start) const noexcept {
  Blob blob;
  if (layout_.blob_code_offset >= 0) {
    const auto first = reinterpret_cast<uintptr_t>(start);
    blob.begin = first + static_cast<uintptr_t>(load_at<int32_t>(start + layout_.blob_code_offset));
    blob.end = first + static_cast<uintptr_t>(load_at<int32_t>(start + layout_.blob_data_offset));
  } else {
    blob.begin = load_at<uintptr_t>(start + layout_.blob_code_begin);
    blob.end = load_at<uintptr_t>(start + layout_.blob_code_end);
  }
  blob.name = load_at<const char*>(start + layout_.blob_name);
  if (blob.name == nullptr) return {};
  blob.kind = is_compiled(blob.name)                         ? BlobKind::kCompiled
              : std::string_view(blob.name) == "Interpreter" ? BlobKind::kInterpreter
                                                             : BlobKind::kStub;
  const auto words = load_at<int32_t>(start + layout_.blob_frame);
  blob.frame_words = words > 0 && words <= kMostFrameWords ? words : 0;
  const auto frame_begin = layout_.blob_frame_begin < 0 ? -1 : load_at<int16_t>(start + layout_.blob_frame_begin);
  if (frame_begin > 0) blob.frame_begin = blob.begin + static_cast<uintptr_t>(frame_begin);
  if (blob.kind == BlobKind::kCompiled && layout_.compile_id >= 0) {
    blob.compile_id = load_at<int32_t>(start + layout_.compile_id);
  }
  return blob;
}

Blob CodeCache::find(uintptr_t pc) const noexcept {
  for (size_t i = 0; i < count_; ++i) {
    const char* const heap = heaps_[i];
    const auto low = load_at<uintptr_t>(heap + layout_.heap_memory + layout_.space_low);
    const auto high = load_at<uintptr_t>(heap + layout_.heap_memory + layout_.space_high);
    if (pc < low || pc >= high) continue;
    // A segment's byte says how far back its block began, in steps of at most 254 segments.
    const auto log2 = static_cast<uint32_t>(load_at<int32_t>(heap + layout_.heap_log2_size)) & 31U;
    const auto* const map = load_at<const uint8_t*>(heap + layout_.heap_segments + layout_.space_low);
    size_t segment = (pc - low) >> log2;
    if (map == nullptr || map[segment] == kFreeSegment) return {};
    for (size_t step = 0; map[segment] != 0; ++step) {
      if (map[segment] == kFreeSegment || map[segment] > segment || step == kMostSteps) return {};
      segment -= map[segment];
    }
    const auto* const block = reinterpret_cast<const char*>(low + (segment << log2));
    if (block[layout_.block_used] == 0) return {};
    const Blob blob = blob_at(block + layout_.block_bytes);
    return blob.contains(pc) ? blob : Blob{};
  }
  return {};
}

int32_t CodeCache::latest_compilation() const noexcept {
  if (layout_.compile_id < 0) return 0;
  int32_t latest = 0;
  for (size_t i = 0; i < count_; ++i) {
    const char* const heap = heaps_[i];
    const auto low = load_at<uintptr_t>(heap + layout_.heap_memory + layout_.space_low);
    const auto high = load_at<uintptr_t>(heap + layout_.heap_memory + layout_.space_high);
    const auto log2 = static_cast<uint32_t>(load_at<int32_t>(heap + layout_.heap_log2_size)) & 31U;
    const auto* const map = load_at<const uint8_t*>(heap + layout_.heap_segments + layout_.space_low);
    for (size_t segment = 0; map != nullptr && segment < (high - low) >> log2; ++segment) {
      uint8_t mark = kFreeSegment;
      if (!safe_read(map + segment, &mark, sizeof(mark)) || mark != 0) continue;  // not the first of a block
      const auto* const start = reinterpret_cast<const char*>(low + (segment << log2)) + layout_.block_bytes;
      const char* name = nullptr;
      char word[16] = {};
      int32_t id = 0;
      if (!safe_read(start + layout_.blob_name, &name, sizeof(name)) || name == nullptr) continue;
      if (!safe_read(name, word, sizeof(word) - 1) || !is_compiled(word)) continue;
      if (safe_read(start + layout_.compile_id, &id, sizeof(id))) latest = std::max(latest, id);
    }
  }
  return latest;
}

}  // namespace headway::agent
