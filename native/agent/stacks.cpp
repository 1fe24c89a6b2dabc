// Numbers Java stacks.
//
// The way there has two steps. A hash of the frames as JVMTI gives them, (jmethodID, bytecode index) each, leads to the
// stack's number: this is what nearly every call takes. Only where that is not known, methods and lines are looked up,
// and the stack is numbered by its names and lines, so that classes that are loaded again and again (redeployed
// applications, lambdas, proxies) do not fill the table.
//
// Class unloading. A jmethodID is used only on the thread on whose stack its method is: the frame keeps the class
// alive. It is remembered as a number inside a hash, never handed to the JVM later. Should the same jmethodID mean
// another method one day, the hash would lead to a wrong stack. HotSpot does not let that happen: up to JDK 25 the
// memory behind a jmethodID is never freed, and a place in it is used again only for an id that nobody got
// (Method::destroy_jmethod_id); from JDK 26 on ids are counted up (JDK-8268406). But a redefined class keeps its ids
// while its lines move. So the first step forgets what is older than a minute, and looks it up again.
#include "agent/stacks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "agent/agent.h"
#include "agent/id_table.h"
#include "agent/locks.h"
#include "agent/text.h"

namespace headway::agent {
namespace {

constexpr jint kMaxFrames = 64;  // kept of a stack
constexpr jint kHookFrames = 4;  // at most on top of it
constexpr uint32_t kMaxIds = 65535;
constexpr uint32_t kHookMethod = kMaxTableId;  // stands for any method of the hook class
constexpr size_t kNameBytes = 512;             // of a class's or method's name
constexpr int kEpochShift = 36;                // 2^36 ns are 69 s
constexpr jlong kNativeLocation = -1;
constexpr hw_i32 kNativeLine = -1;
constexpr hw_i32 kUnknownLine = -2;

// In zero pages that nobody has touched until locks are recorded.
struct Tables {
  IdCache stacks_by_frames;
  IdTable stacks_by_lines;
  IdCache methods_by_id;
  IdTable methods_by_name;
  std::atomic<uint32_t> last_stack{0};
  std::atomic<uint32_t> last_method{0};
  std::atomic<uint64_t> unnumbered{0};
  std::atomic<uint64_t> failed{0};
  std::atomic<bool> ready{false};
};
constinit Tables tables;

// Gives `hash` a number of its own, or finds the one it has. `is_new`: it is ours, to be written.
uint32_t number(IdTable& table, std::atomic<uint32_t>& last, uint64_t hash, bool* is_new) {
  *is_new = false;
  if (const uint32_t known = table.find(hash)) return known;
  if (last.load(std::memory_order_relaxed) >= kMaxIds) return 0;
  const uint32_t id = last.fetch_add(1, std::memory_order_relaxed) + 1;
  if (id > kMaxIds) {
    last.store(kMaxIds, std::memory_order_relaxed);
    return 0;
  }
  const uint32_t kept = table.put(hash, id);
  *is_new = kept == id;
  return kept;
}

uint64_t hash_of(uint64_t seed, std::string_view text) {
  uint64_t hash = mix(seed, text.size());
  for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), 8))) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min<size_t>(text.size(), 8));
    hash = mix(hash, word);
  }
  return hash;
}

// "Lcom/example/Main$$Lambda$14.0x00007f01;" as "com.example.Main$$Lambda": a hidden class has its address behind a dot
// in its signature, and a lambda's up to JDK 20 a running number as well. Cut off, so that the same lambda is the same
// class when its class is loaded again, and in the next run.
size_t class_name(std::string_view signature, char* out, size_t capacity) {
  if (signature.size() >= 2 && signature.front() == 'L') signature = signature.substr(1, signature.size() - 2);
  const size_t dot = signature.find('.');
  constexpr std::string_view kLambda = "$$Lambda";
  const size_t lambda = dot == std::string_view::npos ? dot : signature.rfind(kLambda, dot);
  signature = signature.substr(0, lambda == std::string_view::npos ? dot : lambda + kLambda.size());
  const size_t bytes = to_utf8(signature, out, capacity);
  std::replace(out, out + bytes, '/', '.');
  return bytes;
}

void free_text(char* text) {
  if (text != nullptr) agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(text));
}

uint32_t number_method(uint64_t seed, std::string_view class_text, std::string_view name_text) {
  if (class_text.starts_with(kHookClass)) return kHookMethod;
  bool is_new = false;
  const uint64_t hash = hash_of(hash_of(seed, class_text), name_text);
  const uint32_t id = number(tables.methods_by_name, tables.last_method, hash, &is_new);
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

hw_i32 line_of(const jvmtiFrameInfo& frame) {
  if (frame.location == kNativeLocation) return kNativeLine;
  jint count = 0;
  jvmtiLineNumberEntry* lines = nullptr;
  if (agent().jvmti->GetLineNumberTable(frame.method, &count, &lines) != JVMTI_ERROR_NONE) return kUnknownLine;
  hw_i32 line = kUnknownLine;
  jlocation nearest = -1;
  for (jint i = 0; i < count; ++i) {  // in no particular order, says JVMTI
    if (lines[i].start_location > frame.location || lines[i].start_location < nearest) continue;
    nearest = lines[i].start_location;
    line = lines[i].line_number;
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(lines));
  return line;
}

// A stack that the first step did not know.
uint32_t number_stack(JNIEnv* jni, const jvmtiFrameInfo* frames, jint count, uint64_t seed, uint64_t epoch) {
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
    kept[depth] = {method, line_of(frames[i])};
    hash = mix(hash, uint64_t{method} << 32 | static_cast<uint32_t>(kept[depth].line));
    ++depth;
  }
  if (depth == 0) return 0;
  bool is_new = false;
  const uint32_t id = number(tables.stacks_by_lines, tables.last_stack, mix(hash, is_cut ? 1 : 0), &is_new);
  if (is_new) write_stack(id, kept.data(), depth, is_cut);
  return id;
}

uint64_t hash_of(const jvmtiFrameInfo* frames, jint count, uint64_t seed, uint64_t epoch) {
  uint64_t hash = mix(seed, epoch);
  for (jint i = 0; i < count; ++i) {
    hash = mix(hash, reinterpret_cast<uintptr_t>(frames[i].method) ^ static_cast<uint64_t>(frames[i].location) << 47);
  }
  return hash;
}

}  // namespace

uint32_t take_stack(JNIEnv* jni) noexcept {
  const ChunkFile* file = recording();
  if (file == nullptr || !tables.ready.load(std::memory_order_acquire)) return 0;
  // No thread named means the current one: the virtual thread where one is mounted, and then, unlike where the same
  // thread is named, nothing is done to keep it from being unmounted. Needs no capability.
  std::array<jvmtiFrameInfo, kMaxFrames + kHookFrames + 1> frames;
  jint count = 0;
  const jvmtiError error =
      agent().jvmti->GetStackTrace(nullptr, 0, static_cast<jint>(frames.size()), frames.data(), &count);
  if (error != JVMTI_ERROR_NONE) tables.failed.fetch_add(1, std::memory_order_relaxed);
  if (error != JVMTI_ERROR_NONE || count <= 0) return 0;  // none: a thread that begins or ends has no Java frame
  const uint64_t seed = file->id();
  const auto epoch = static_cast<uint64_t>(now_ns()) >> kEpochShift;
  const uint64_t hash = hash_of(frames.data(), count, seed, epoch);
  if (const uint32_t known = tables.stacks_by_frames.find(hash)) return known;
  const uint32_t id = number_stack(jni, frames.data(), count, seed, epoch);
  if (id != 0) {
    tables.stacks_by_frames.put(hash, id);
  } else {
    tables.unnumbered.fetch_add(1, std::memory_order_relaxed);
  }
  return id;
}

bool start_stacks(JNIEnv*) noexcept {
  jvmtiCapabilities wanted{};
  wanted.can_get_line_numbers = 1;  // without it lines are unknown, that is all
  agent().jvmti->AddCapabilities(&wanted);
  // A thread that is late from an earlier recording finds nothing here: hashes begin with the file's number.
  tables.stacks_by_frames.clear();
  tables.stacks_by_lines.clear();
  tables.methods_by_id.clear();
  tables.methods_by_name.clear();
  tables.last_stack = 0;
  tables.last_method = 0;
  tables.unnumbered = 0;
  tables.failed = 0;
  tables.ready.store(true, std::memory_order_release);
  return true;
}

void end_stacks() noexcept {
  if (!tables.ready.exchange(false)) return;
  const StackLosses losses = stack_losses();
  if (losses.unnumbered != 0) write_info("stacks_unnumbered", std::to_string(losses.unnumbered));
  if (losses.failed != 0) write_info("stacks_failed", std::to_string(losses.failed));
}

StackLosses stack_losses() noexcept {
  return {tables.unnumbered.load(std::memory_order_relaxed), tables.failed.load(std::memory_order_relaxed)};
}

}  // namespace headway::agent
