// Numbers Java stacks.
//
// The way there has two steps. A hash of the frames as JVMTI gives them, (jmethodID, bytecode index) each, leads to the
// stack's number: this is what nearly every call takes. Only where that is not known, methods and lines are looked up,
// and the stack is numbered by its names and lines, so that classes that are loaded again and again (redeployed
// applications, lambdas, proxies) do not fill the table.
//
// Class unloading. A jmethodID is used on the thread on whose stack its method is, where the frame keeps the class
// alive; or right after the stack of another thread was taken: should the class go in between, the JVM finds no method
// behind the id and says so. It is remembered as a number inside a hash, never handed to the JVM later. Should the same
// jmethodID mean another method one day, the hash would lead to a wrong stack. HotSpot does not let that happen: up to
// JDK 25 the memory behind a jmethodID is never freed, and a place in it is used again only for an id that nobody got
// (Method::destroy_jmethod_id); from JDK 26 on ids are counted up (JDK-8268406). But a redefined class keeps its ids
// while its lines move. So the first step forgets what is older than a minute, and looks it up again.
#include "agent/jvm/stacks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "agent/core/clock.h"
#include "agent/core/id_table.h"
#include "agent/core/text.h"
#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr jint kMaxFrames = 64;                // kept of a stack
constexpr jint kHookFrames = 4;                // at most on top of it
constexpr uint32_t kHookMethod = kMaxTableId;  // stands for any method of the hook class
constexpr size_t kNameBytes = 512;             // of a class's or method's name
constexpr int kEpochShift = 36;                // 2^36 ns are 69 s
constexpr jlong kNativeLocation = -1;
constexpr hw_i32 kNativeLine = -1;
constexpr hw_i32 kUnknownLine = -2;

// In zero pages that nobody has touched until locks are recorded.
struct Tables {
  IdCache stacks_by_frames;
  IdNumbers stacks_by_lines;
  IdCache methods_by_id;
  IdNumbers methods_by_name;
  std::atomic<uint64_t> unnumbered{0};
  std::atomic<uint64_t> failed{0};
  std::atomic<uint32_t> users{0};    // of the recording that goes on
  std::atomic<uint64_t> file_id{0};  // that the numbers are of
  std::atomic<bool> ready{false};
};
constinit Tables tables;

void free_text(char* text) {
  if (text != nullptr) agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(text));
}

uint32_t number_method(uint64_t seed, std::string_view class_text, std::string_view name_text) {
  if (class_text.starts_with(kHookClass)) return kHookMethod;
  const auto [id, is_new] = tables.methods_by_name.of(mix(mix(seed, class_text), name_text));
  if (is_new) write_method(id, class_text, name_text);
  return id;
}

// The number of a method that is on the calling thread's stack. 0: the JVM does not tell, or there are too many.
uint32_t look_up_method(JNIEnv* jni, jmethodID method, uint64_t seed, uint64_t epoch) {
  const uint64_t hash = mix(mix(seed, epoch), reinterpret_cast<uintptr_t>(method));
  if (const uint32_t known = tables.methods_by_id.find(hash)) return known;
  jvmtiEnv* jvmti = agent().jvmti;
  jclass type = nullptr;
  char* name = nullptr;
  char* signature = nullptr;
  uint32_t id = 0;
  if (jvmti->GetMethodDeclaringClass(method, &type) == JVMTI_ERROR_NONE &&
      jvmti->GetClassSignature(type, &signature, nullptr) == JVMTI_ERROR_NONE &&
      jvmti->GetMethodName(method, &name, nullptr, nullptr) == JVMTI_ERROR_NONE) {
    char class_text[kNameBytes];
    char name_text[kNameBytes];
    const size_t class_bytes = class_name(signature, class_text, sizeof(class_text));
    const size_t name_bytes = to_utf8(name, name_text, sizeof(name_text));
    id = number_method(seed, {class_text, class_bytes}, {name_text, name_bytes});
  }
  free_text(name);
  free_text(signature);
  if (type != nullptr) jni->DeleteLocalRef(type);
  if (id != 0) tables.methods_by_id.put(hash, id);
  return id;
}

// Whether the bytecode before this one enters a monitor.
bool is_after_enter(const jvmtiFrameInfo& frame) {
  constexpr unsigned char kMonitorEnter = 0xc2;
  jint bytes = 0;
  unsigned char* code = nullptr;
  if (agent().jvmti->GetBytecodes(frame.method, &bytes, &code) != JVMTI_ERROR_NONE) return false;
  const bool is_after = frame.location > 0 && frame.location <= bytes && code[frame.location - 1] == kMonitorEnter;
  agent().jvmti->Deallocate(code);
  return is_after;
}

// `waits_here`: the frame is the innermost of a thread that waits. In compiled code one that enters a monitor is said to be at
// what follows, which may be the next line; interpreted, it is at the line of `synchronized`, and so it shall be everywhere.
hw_i32 line_of(const jvmtiFrameInfo& frame, bool waits_here) {
  if (frame.location == kNativeLocation) return kNativeLine;
  jint count = 0;
  jvmtiLineNumberEntry* lines = nullptr;
  if (agent().jvmti->GetLineNumberTable(frame.method, &count, &lines) != JVMTI_ERROR_NONE) return kUnknownLine;
  const auto line_at = [&](jlocation location) {
    hw_i32 line = kUnknownLine;
    jlocation nearest = -1;
    for (jint i = 0; i < count; ++i) {  // in no particular order, says JVMTI
      if (lines[i].start_location > location || lines[i].start_location < nearest) continue;
      nearest = lines[i].start_location;
      line = lines[i].line_number;
    }
    return line;
  };
  hw_i32 line = line_at(frame.location);
  if (waits_here && frame.location > 0) {
    const hw_i32 before = line_at(frame.location - 1);
    if (before != line && is_after_enter(frame)) line = before;
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(lines));
  return line;
}

// A stack that the first step did not know. `waits`: its thread waits.
uint32_t number_stack(JNIEnv* jni, const jvmtiFrameInfo* frames, jint count, uint64_t seed, uint64_t epoch,
                      bool waits) {
  std::array<hw_stack_frame, kMaxFrames> kept;
  uint16_t depth = 0;
  bool is_cut = count > kMaxFrames + kHookFrames;
  uint64_t hash = mix(seed, 1);
  for (jint i = 0; i < std::min(count, kMaxFrames + kHookFrames); ++i) {
    const uint32_t method = look_up_method(jni, frames[i].method, seed, epoch);
    if (method == 0) return 0;
    if (method == kHookMethod) continue;
    if (depth == kMaxFrames) {
      is_cut = true;
      break;
    }
    kept[depth] = {method, line_of(frames[i], waits && i == 0)};
    hash = mix(hash, uint64_t{method} << 32 | static_cast<uint32_t>(kept[depth].line));
    ++depth;
  }
  if (depth == 0) return 0;
  const auto [id, is_new] = tables.stacks_by_lines.of(mix(hash, is_cut ? 1 : 0));
  if (is_new) write_stack(id, kept.data(), depth, is_cut);
  return id;
}

// The line of a frame that waits is another one than that of a frame at the same place that makes an object.
uint64_t hash_of(const jvmtiFrameInfo* frames, jint count, uint64_t seed, uint64_t epoch, bool waits) {
  uint64_t hash = mix(mix(seed, epoch), waits ? 1 : 0);
  for (jint i = 0; i < count; ++i) {
    hash = mix(hash, reinterpret_cast<uintptr_t>(frames[i].method) ^ static_cast<uint64_t>(frames[i].location) << 47);
  }
  return hash;
}

// The number of what the JVM gives of a stack, so many frames at most; of a thread that waits, if it is more than one.
uint32_t numbered_stack(JNIEnv* jni, jthread thread, jint most) {
  const ChunkFile* file = recording();
  if (file == nullptr || !tables.ready.load(std::memory_order_acquire)) return 0;
  std::array<jvmtiFrameInfo, kMaxFrames + kHookFrames + 1> frames;
  jint count = 0;
  const jvmtiError error = agent().jvmti->GetStackTrace(thread, 0, most, frames.data(), &count);
  if (error != JVMTI_ERROR_NONE) tables.failed.fetch_add(1, std::memory_order_relaxed);
  if (error != JVMTI_ERROR_NONE || count <= 0) return 0;  // none: a thread that begins or ends has no Java frame
  const uint64_t seed = file->id();
  const auto epoch = static_cast<uint64_t>(monotonic_ns()) >> kEpochShift;
  const uint64_t hash = hash_of(frames.data(), count, seed, epoch, most > 1);
  if (const uint32_t known = tables.stacks_by_frames.find(hash)) return known;
  const uint32_t id = number_stack(jni, frames.data(), count, seed, epoch, most > 1);
  if (id != 0) {
    tables.stacks_by_frames.put(hash, id);
  } else {
    tables.unnumbered.fetch_add(1, std::memory_order_relaxed);
  }
  return id;
}

}  // namespace

// No thread named means the current one: the virtual thread where one is mounted, and then, unlike where the same
// thread is named, nothing is done to keep it from being unmounted. Needs no capability.
uint32_t take_stack(JNIEnv* jni) noexcept { return take_stack_of(jni, nullptr); }

uint32_t take_stack_of(JNIEnv* jni, jthread thread) noexcept {
  return numbered_stack(jni, thread, kMaxFrames + kHookFrames + 1);
}

uint32_t take_innermost_frame(JNIEnv* jni) noexcept { return numbered_stack(jni, nullptr, 1); }

bool start_stacks(JNIEnv*) noexcept {
  if (tables.users.fetch_add(1) > 0) return true;
  jvmtiCapabilities wanted{};
  wanted.can_get_line_numbers = 1;  // without it lines are unknown, that is all
  agent().jvmti->AddCapabilities(&wanted);
  wanted = {};
  wanted.can_get_bytecodes = 1;  // without it a monitor's line may be the next one
  agent().jvmti->AddCapabilities(&wanted);
  const ChunkFile* const file = agent().file.load(std::memory_order_acquire);
  const uint64_t file_id = file != nullptr ? file->id() : 0;
  // Numbers that are in the file stay: what is taken again would be given the number of something else there. A thread that
  // is late from an earlier recording finds nothing here: hashes begin with the file's number.
  if (tables.file_id.exchange(file_id) != file_id) {
    tables.stacks_by_frames.clear();
    tables.stacks_by_lines.clear();
    tables.methods_by_id.clear();
    tables.methods_by_name.clear();
    tables.unnumbered = 0;
    tables.failed = 0;
  }
  tables.ready.store(true, std::memory_order_release);
  return true;
}

void end_stacks() noexcept {
  if (tables.users.load() == 0 || tables.users.fetch_sub(1) > 1) return;
  tables.ready.store(false);
  const StackLosses losses = stack_losses();
  if (losses.unnumbered != 0) write_info("stacks_unnumbered", std::to_string(losses.unnumbered));
  if (losses.failed != 0) write_info("stacks_failed", std::to_string(losses.failed));
}

StackLosses stack_losses() noexcept {
  return {tables.unnumbered.load(std::memory_order_relaxed), tables.failed.load(std::memory_order_relaxed)};
}

}  // namespace headway::agent
