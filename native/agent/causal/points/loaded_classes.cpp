#include "agent/causal/points/loaded_classes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "agent/causal/common/options.h"
#include "agent/causal/points/point_list.h"
#include "agent/causal/points/point_loading.h"
#include "agent/causal/sections/lock_target.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

constexpr size_t kBatch = 200;  // classes that are retransformed at once

std::string source_file(jclass type) {
  char* name = nullptr;
  if (agent().jvmti->GetSourceFileName(type, &name) != JVMTI_ERROR_NONE) return {};
  std::string copy(name);
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  return copy;
}

bool releases_locks(jmethodID method) {
  constexpr jint kSynchronized = 0x0020;
  constexpr uint8_t kMonitorExit = 195;
  jvmtiEnv* jvmti = agent().jvmti;
  jint modifiers = 0;
  if (jvmti->GetMethodModifiers(method, &modifiers) == JVMTI_ERROR_NONE && (modifiers & kSynchronized) != 0)
    return true;
  jint length = 0;
  unsigned char* code = nullptr;
  if (jvmti->GetBytecodes(method, &length, &code) != JVMTI_ERROR_NONE) return false;
  // By bytes, not by instructions: one class too many does no harm.
  const bool found = std::memchr(code, kMonitorExit, static_cast<size_t>(length)) != nullptr;
  jvmti->Deallocate(code);
  return found;
}

// Most classes of a program that runs already have no lock, and need not be touched.
bool releases_locks(jclass type) {
  jint count = 0;
  jmethodID* methods = nullptr;
  if (agent().jvmti->GetClassMethods(type, &count, &methods) != JVMTI_ERROR_NONE) return true;  // not prepared: unknown
  const bool found = std::any_of(methods, methods + count, [](jmethodID method) { return releases_locks(method); });
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(methods));
  return found;
}

}  // namespace

bool wants_loaded(jclass type, std::string_view name) {
  const std::string file = points().has_files ? source_file(type) : std::string();
  if (!concerns_class(name, file)) return false;
  return causal_spec().suggest || name == kApiClass || name == "java/lang/Thread" || is_named_by_a_point(name, file) ||
         may_have_sections(name) || releases_locks(type);
}

void retransform(std::vector<jclass>& types) {
  jvmtiEnv* jvmti = agent().jvmti;
  for (size_t at = 0; at < types.size(); at += kBatch) {
    const size_t count = std::min(kBatch, types.size() - at);
    if (jvmti->RetransformClasses(static_cast<jint>(count), &types[at]) == JVMTI_ERROR_NONE || count == 1) continue;
    // One of them is refused: the others shall not suffer. What went in at the first try counts once only.
    arming_points = false;
    for (size_t i = at; i < at + count; ++i) jvmti->RetransformClasses(1, &types[i]);
    arming_points = true;
  }
}

void note_loaded_waits(JNIEnv* jni) {
  if (causal_spec().target.kind == TargetKind::kLock) for_each_loaded(jni, note_waits);
}

void resolve_loaded_sections(JNIEnv* jni) {
  if (!has_unresolved_sections()) return;
  for_each_loaded(jni, [](jclass type, const std::string& name) {
    if (is_unresolved(name)) resolve_sections(type, name);
  });
}

}  // namespace headway::agent::causal
