// Blobs of a code cache that is made here, in the layouts of JDK 17 and of JDK 25.
#include "agent/hotspot/code_cache.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "testing/check.h"

using namespace headway::agent;

namespace {

constexpr size_t kSegment = 64;
constexpr size_t kSegments = 1024;

// One CodeHeap with its memory and its map of segments.
class Heap {
 public:
  explicit Heap(bool is_new) : is_new_(is_new) {
    layout_ = {.heap_memory = 0, .heap_segments = 16, .heap_log2_size = 32, .space_low = 0, .space_high = 8};
    layout_.block_used = is_new ? 4 : 8;
    layout_.block_bytes = is_new ? 8 : 16;
    layout_.blob_name = 8;
    layout_.blob_frame = 16;
    layout_.blob_frame_begin = 20;
    layout_.compile_id = 24;
    if (is_new) {
      layout_.blob_code_offset = 32;
      layout_.blob_data_offset = 36;
    } else {
      layout_.blob_code_begin = 32;
      layout_.blob_code_end = 40;
    }
    put(heap_.data(), 0, reinterpret_cast<uintptr_t>(memory_.data()));
    put(heap_.data(), 8, reinterpret_cast<uintptr_t>(memory_.data() + memory_.size()));
    put(heap_.data(), 16, reinterpret_cast<uintptr_t>(map_.data()));
    put(heap_.data(), 24, reinterpret_cast<uintptr_t>(map_.data() + map_.size()));
    put(heap_.data(), 32, int32_t{6});
    map_.fill(0xff);
  }

  uintptr_t at(size_t segment, size_t offset = 0) const {
    return reinterpret_cast<uintptr_t>(memory_.data()) + segment * kSegment + offset;
  }

  // Its code begins a segment after the block, and goes to the block's end.
  void add(size_t segment, size_t count, const char* name, int32_t frame_words, int32_t id) {
    char* const block = memory_.data() + segment * kSegment;
    char* const blob = block + layout_.block_bytes;
    block[layout_.block_used] = 1;
    put(blob, layout_.blob_name, name);
    put(blob, layout_.blob_frame, frame_words);
    put(blob, layout_.blob_frame_begin, int16_t{12});
    put(blob, layout_.compile_id, id);
    const auto begin = at(segment + 1), end = at(segment + count), first = reinterpret_cast<uintptr_t>(blob);
    if (is_new_) {
      put(blob, layout_.blob_code_offset, static_cast<int32_t>(begin - first));
      put(blob, layout_.blob_data_offset, static_cast<int32_t>(end - first));
    } else {
      put(blob, layout_.blob_code_begin, begin);
      put(blob, layout_.blob_code_end, end);
    }
    // Each byte says how far back; 254 is as far as a byte goes.
    for (size_t i = 0; i < count; ++i) map_[segment + i] = static_cast<uint8_t>(i <= 254 ? i : 254);
  }
  void free(size_t segment) { memory_[segment * kSegment + static_cast<size_t>(layout_.block_used)] = 0; }
  void map(size_t segment, uint8_t value) { map_[segment] = value; }

  CodeCache cache() const {
    CodeCache cache;
    const char* const heap = heap_.data();
    CHECK(cache.load(layout_, &heap, 1));
    return cache;
  }
  CodeLayout& layout() { return layout_; }

 private:
  template <typename T>
  static void put(char* at, int64_t offset, T value) {
    std::memcpy(at + offset, &value, sizeof(value));
  }

  bool is_new_;
  CodeLayout layout_;
  alignas(16) std::array<char, 64> heap_{};
  alignas(kSegment) std::array<char, kSegment * kSegments> memory_{};
  std::array<uint8_t, kSegments> map_{};
};

void a_blob_is_found_by_any_address_in_its_code(bool is_new) {
  Heap heap(is_new);
  heap.add(4, 8, "nmethod", 6, 77);
  heap.add(12, 600, "StubRoutines (1)", 0, 0);  // further back than one byte of the map says
  const CodeCache cache = heap.cache();
  for (const uintptr_t pc : {heap.at(5), heap.at(7, 63), heap.at(11, 63)}) {
    const Blob blob = cache.find(pc);
    CHECK(blob.kind == BlobKind::kCompiled);
    CHECK_EQUAL(blob.begin, heap.at(5));
    CHECK_EQUAL(blob.end, heap.at(12));
    CHECK_EQUAL(blob.frame_words, 6);
    CHECK_EQUAL(blob.compile_id, 77);
    CHECK_EQUAL(blob.frame_begin, heap.at(5) + 12);
  }
  const Blob far = cache.find(heap.at(600));
  CHECK(far.kind == BlobKind::kStub);
  CHECK_EQUAL(far.begin, heap.at(13));
  CHECK_EQUAL(far.compile_id, 0);
  CHECK(cache.contains(heap.at(900)));
  CHECK(!cache.contains(heap.at(kSegments)));
}

void an_address_outside_of_code_is_in_no_blob(bool is_new) {
  Heap heap(is_new);
  heap.add(4, 8, "nmethod", 6, 77);
  const CodeCache cache = heap.cache();
  CHECK(cache.find(heap.at(4, 20)).kind == BlobKind::kNone);  // its header
  CHECK(cache.find(heap.at(3)).kind == BlobKind::kNone);      // free segments
  CHECK(cache.find(heap.at(kSegments)).kind == BlobKind::kNone);
  CHECK(cache.find(0).kind == BlobKind::kNone);
  heap.free(4);
  CHECK(cache.find(heap.at(6)).kind == BlobKind::kNone);
}

void a_map_that_is_being_changed_leads_nowhere(bool is_new) {
  Heap heap(is_new);
  heap.add(4, 8, "nmethod", 6, 77);
  heap.map(6, 200);  // back beyond the first segment
  CHECK(heap.cache().find(heap.at(6)).kind == BlobKind::kNone);
  heap.map(6, 1);
  heap.map(5, 0xff);
  CHECK(heap.cache().find(heap.at(6)).kind == BlobKind::kNone);
}

void a_jvm_that_does_not_tell_all_of_it_has_no_cache() {
  Heap heap(true);
  heap.layout().blob_frame = CodeLayout::kUnknown;
  const char* nothing = nullptr;
  CodeCache cache;
  CHECK(!cache.load(heap.layout(), &nothing, 1));
  CHECK(!cache.is_known());
  CHECK(cache.find(heap.at(5)).kind == BlobKind::kNone);
}

void the_latest_compilation_has_the_highest_number_in_the_heap(bool is_new) {
  Heap heap(is_new);
  heap.add(4, 8, "nmethod", 6, 77);
  heap.add(12, 8, "native nmethod", 6, 1203);
  heap.add(20, 8, "I2C/C2I adapters", 0, 99999);
  CHECK_EQUAL(heap.cache().latest_compilation(), 1203);
}

}  // namespace

int main() {
  for (const bool is_new : {false, true}) {
    a_blob_is_found_by_any_address_in_its_code(is_new);
    an_address_outside_of_code_is_in_no_blob(is_new);
    a_map_that_is_being_changed_leads_nowhere(is_new);
    the_latest_compilation_has_the_highest_number_in_the_heap(is_new);
  }
  a_jvm_that_does_not_tell_all_of_it_has_no_cache();
}
