// HotSpot's code cache as a signal handler reads it: which blob an address lies in, of what kind, with what frame.
//
// What is read is what gHotSpotVMStructs tells of CodeCache, CodeHeap and CodeBlob (JDK 17 to 25). The JVM may change
// these while they are read: bounds are checked here, a fault is the caller's to catch (stack_reader.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headway::agent {

enum class BlobKind : uint8_t { kNone, kCompiled, kInterpreter, kStub };

struct Blob {
  BlobKind kind = BlobKind::kNone;
  uintptr_t begin = 0;  // of its instructions
  uintptr_t end = 0;
  const char* name = nullptr;
  int32_t frame_words = 0;    // 0: none of one size
  int32_t compile_id = 0;     // of compiled code: rises with time; 0: not known
  uintptr_t frame_begin = 0;  // its first instruction with a whole frame; 0: none, or not known

  bool contains(uintptr_t pc) const noexcept { return pc >= begin && pc < end; }
};

// Offsets within HotSpot's structures; -1: this JVM does not tell.
struct CodeLayout {
  static constexpr int64_t kUnknown = -1;
  int64_t heap_memory = kUnknown;     // CodeHeap::_memory, a VirtualSpace
  int64_t heap_segments = kUnknown;   // CodeHeap::_segmap, another
  int64_t heap_log2_size = kUnknown;  // of a segment
  int64_t space_low = kUnknown;
  int64_t space_high = kUnknown;
  int64_t block_used = kUnknown;
  int64_t block_bytes = kUnknown;  // of a block's header, before its blob
  int64_t blob_name = kUnknown;
  int64_t blob_frame = kUnknown;        // in words
  int64_t blob_frame_begin = kUnknown;  // behind the code's begin; of two bytes or four, the first two of which count
  int64_t blob_code_begin = kUnknown;   // addresses, up to JDK 23
  int64_t blob_code_end = kUnknown;     //
  int64_t blob_code_offset = kUnknown;  // offsets from the blob's begin, since
  int64_t blob_data_offset = kUnknown;  //
  int64_t compile_id = kUnknown;        // of an nmethod
};

// The blobs of compiled code and stubs, found by an address in them.
class CodeCache {
 public:
  static constexpr size_t kMostHeaps = 8;

  // Reads libjvm's tables. False: this JVM does not tell what is needed.
  bool load() noexcept;
  // Of a layout and heaps that are known: for tests.
  bool load(const CodeLayout& layout, const char* const* heaps, size_t count) noexcept;

  bool is_known() const noexcept { return count_ != 0; }
  // [signal] Whether the address lies in one of its heaps.
  bool contains(uintptr_t pc) const noexcept;
  // [signal] The blob whose instructions the address is among; of kind kNone if there is none.
  Blob find(uintptr_t pc) const noexcept;
  // The highest number of a compilation that is there now; 0: not known. Not in a signal handler; never faults.
  int32_t latest_compilation() const noexcept;

 private:
  Blob blob_at(const char* start) const noexcept;
  bool is_complete() const noexcept;

  CodeLayout layout_;
  std::array<const char*, kMostHeaps> heaps_{};
  size_t count_ = 0;
};

}  // namespace headway::agent
