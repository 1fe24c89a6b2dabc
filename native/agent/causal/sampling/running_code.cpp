#include "agent/causal/sampling/running_code.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "agent/causal/common/notes.h"
#include "agent/causal/sampling/stack_frame.h"
#include "agent/hotspot/hotspot.h"
#include "agent/hotspot/vm_tables.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

constexpr size_t kMostPieces = 4096;

// A stub or a library. Never taken out: a handler may look at it.
struct Piece {
  CodeRange range;
  std::string name;
  std::atomic<int64_t> unread_ns{0};
};

// Added to at the end, read by handlers without a lock.
struct Pieces {
  std::array<Piece, kMostPieces> all;
  std::atomic<size_t> count{0};

  // [signal]
  Piece* find(uintptr_t pc) noexcept {
    for (size_t i = count.load(std::memory_order_acquire); i-- > 0;) {  // of two at one place the newer one
      if (all[i].range.contains(pc)) return &all[i];
    }
    return nullptr;
  }

  void add(std::string_view name, CodeRange range) {
    const size_t at = count.load(std::memory_order_relaxed);
    if (at == all.size()) return;
    for (size_t i = 0; i < at; ++i) {
      if (all[i].range.begin == range.begin && all[i].range.end == range.end && all[i].name == name) return;
    }
    all[at].range = range;
    all[at].name = name;
    count.store(at + 1, std::memory_order_release);
  }
};

// What has no name of its own.
enum Other : size_t { kCompiled, kInterpreter, kStub, kKernel, kElsewhere, kCollection, kOtherCount };
constexpr const char* kOtherNames[kOtherCount] = {"compiled code", "interpreter",        "another stub",
                                                  "system call",   "code of no library", "garbage collection"};

class RunningCode final : public CodeMap {
 public:
  bool contains(uintptr_t pc) const noexcept override { return cache.contains(pc); }
  Blob find(uintptr_t pc) const noexcept override { return cache.find(pc); }
  CodeRange piece_of(uintptr_t pc) const noexcept override {
    Pieces& pieces = cache.contains(pc) ? *stubs : *libraries;
    const Piece* const piece = pieces.find(pc);
    return piece == nullptr ? CodeRange{} : piece->range;
  }

  CodeCache cache;
  Pieces* stubs = nullptr;
  Pieces* libraries = nullptr;
  std::mutex mutex;  // of who adds to these
  std::array<std::atomic<int64_t>, kOtherCount> others{};
  int64_t stack_base = CodeLayout::kUnknown;
  int64_t stack_size = CodeLayout::kUnknown;
  int64_t anchor = CodeLayout::kUnknown;
  int64_t anchor_sp = CodeLayout::kUnknown;
  int64_t anchor_pc = CodeLayout::kUnknown;
  std::atomic<int32_t> latest_old{0};  // compilation

 protected:
  ~RunningCode() = default;  // never: handlers may be in it until the process ends
};
RunningCode& self() {
  static RunningCode* const instance = [] {
    auto* const fresh = new RunningCode;
    fresh->stubs = new Pieces;
    fresh->libraries = new Pieces;
    return fresh;
  }();
  return *instance;
}
std::atomic<RunningCode*> published{nullptr};  // for handlers

int add_library(dl_phdr_info* info, size_t, void*) {
  std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    self().libraries->add(name.empty() ? "the launcher" : name, {begin, begin + part.p_memsz});
  }
  return 0;
}

template <typename T>
T load_at(const char* address) noexcept {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

// Right behind the instruction that enters the kernel.
bool is_behind_system_call(uintptr_t pc) {
#if defined(__x86_64__)
  return load_at<uint16_t>(reinterpret_cast<const char*>(pc - 2)) == 0x050f;
#elif defined(__aarch64__)
  return load_at<uint32_t>(reinterpret_cast<const char*>(pc - 4)) == 0xd4000001;
#else
  return false;
#endif
}

Other other_at(const RunningCode& code, uintptr_t pc) {
  switch (code.cache.find(pc).kind) {
    case BlobKind::kCompiled:
      return kCompiled;
    case BlobKind::kInterpreter:
      return kInterpreter;
    case BlobKind::kStub:
      return kStub;
    case BlobKind::kNone:
      break;
  }
  return kElsewhere;
}

}  // namespace

void prepare_running_code() noexcept {
  RunningCode& code = self();
  code.cache.load();
  code.stack_base = vm_field_offset("JavaThread", "_stack_base");
  code.anchor = vm_field_offset("JavaThread", "_anchor");
  code.anchor_sp = vm_field_offset("JavaFrameAnchor", "_last_Java_sp");
  code.anchor_pc = vm_field_offset("JavaFrameAnchor", "_last_Java_pc");
  code.stack_size = vm_field_offset("JavaThread", "_stack_size");
  for (Pieces* pieces : {code.stubs, code.libraries}) {
    for (size_t i = 0; i < pieces->count.load(); ++i) pieces->all[i].unread_ns = 0;
  }
  for (auto& ns : code.others) ns = 0;
  look_for_libraries();
  published.store(&code, std::memory_order_release);
}

void look_for_libraries() noexcept {
  const std::lock_guard<std::mutex> guard(self().mutex);
  dl_iterate_phdr(add_library, nullptr);
}

void note_stub(std::string_view name, uintptr_t begin, uintptr_t bytes) noexcept {
  if (name.starts_with("vtable") || name.starts_with("itable")) return;  // thousands, each a blob of its own
  RunningCode& code = self();
  const std::lock_guard<std::mutex> guard(code.mutex);
  code.stubs->add(name, {begin, begin + bytes});
}

const CodeMap& running_code() noexcept { return *published.load(std::memory_order_acquire); }

StackBounds stack_bounds(const char* java_thread) noexcept {
  const RunningCode* const code = published.load(std::memory_order_acquire);
  if (code == nullptr || java_thread == nullptr || code->stack_base < 0 || code->stack_size < 0) return {};
  const auto high = load_at<uintptr_t>(java_thread + code->stack_base);
  return {high - load_at<size_t>(java_thread + code->stack_size), high};
}

LeftFrame frame_left(const char* java_thread) noexcept {
  const RunningCode* const code = published.load(std::memory_order_acquire);
  if (code == nullptr || java_thread == nullptr || code->anchor < 0 || code->anchor_sp < 0 || code->anchor_pc < 0) {
    return {};
  }
  const char* const anchor = java_thread + code->anchor;
  return {load_at<uintptr_t>(anchor + code->anchor_sp), load_at<uintptr_t>(anchor + code->anchor_pc)};
}

void set_frame_left(const char* java_thread, LeftFrame left) noexcept {
  const RunningCode* const code = published.load(std::memory_order_acquire);
  char* const anchor = const_cast<char*>(java_thread) + code->anchor;
  std::memcpy(anchor + code->anchor_sp, &left.sp, sizeof(left.sp));
  std::memcpy(anchor + code->anchor_pc, &left.pc, sizeof(left.pc));
}

Machine this_machine() noexcept {
#if defined(__x86_64__)
  return Machine::kX86_64;
#elif defined(__aarch64__)
  return Machine::kAarch64;
#else
  return Machine::kUnknown;
#endif
}

void count_unread(uintptr_t pc, int refused, int64_t ns) noexcept {
  RunningCode* const code = published.load(std::memory_order_acquire);
  if (code == nullptr) return;
  const bool is_cached = code->cache.contains(pc);
  Piece* const piece = (is_cached ? code->stubs : code->libraries)->find(pc);
  std::atomic<int64_t>* sum = piece == nullptr ? &code->others[other_at(*code, pc)] : &piece->unread_ns;
  if (!is_cached && piece != nullptr && is_behind_system_call(pc)) sum = &code->others[kKernel];
  if (refused == kCollecting) sum = &code->others[kCollection];
  sum->fetch_add(ns, std::memory_order_relaxed);
}

std::string unread_members() noexcept {
  RunningCode& code = self();
  std::map<std::string, int64_t> sums;  // a library may have several ranges
  for (size_t i = 0; i < kOtherCount; ++i) sums[kOtherNames[i]] += code.others[i].load(std::memory_order_relaxed);
  for (Pieces* pieces : {code.stubs, code.libraries}) {
    const size_t count = pieces->count.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
      const int64_t ns = pieces->all[i].unread_ns.load(std::memory_order_relaxed);
      if (ns > 0) sums[(pieces == code.stubs ? "stub " : "library ") + pieces->all[i].name] += ns;
    }
  }
  std::string members;
  for (const auto& [name, ns] : sums) {
    if (ns <= 0) continue;
    if (!members.empty()) members += ',';
    members += json_text(name) + ':' + std::to_string(ns);
  }
  return members;
}

void remember_old_code() noexcept { self().latest_old.store(self().cache.latest_compilation()); }

bool is_old_code(uintptr_t pc) noexcept {
  const RunningCode* const code = published.load(std::memory_order_acquire);
  if (code == nullptr) return false;
  const int32_t latest = code->latest_old.load(std::memory_order_relaxed);
  if (latest == 0) return false;
  const Blob blob = code->cache.find(pc);
  return blob.kind == BlobKind::kCompiled && blob.compile_id > 0 && blob.compile_id <= latest;
}

}  // namespace headway::agent::causal
