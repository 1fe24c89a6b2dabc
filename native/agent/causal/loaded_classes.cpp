#include "agent/causal/loaded_classes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "agent/causal/lock_target.h"
#include "agent/causal/options.h"
#include "agent/causal/point_match.h"
#include "agent/causal/points.h"
#include "agent/causal/scope.h"
#include "agent/class_file.h"

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

bool is_named_by_a_point(std::string_view name, std::string_view file) {
  const std::string class_name = dotted(name);
  const uint32_t count = points().count.load();
  for (uint32_t i = 0; i < count; ++i) {
    const Point& point = *points().all[i];
    if (point.is_asked_for() && (may_be_in(point.place, class_name) || is_source_of(point.place, class_name, file))) {
      return true;
    }
  }
  return false;
}

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
