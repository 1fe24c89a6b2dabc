#include "agent/waits/lock_listener.h"

#include "agent/waits/blockers.h"
#include "agent/waits/monitor_waits.h"

namespace headway::agent {
namespace {

jlong JNICALL hook_begin(JNIEnv* jni, jclass, jobject blocker, jint hash, jint class_hash, jint thread, jint owner,
                         jint flags) {
  const Blocker it{blocker, static_cast<uint32_t>(hash), static_cast<uint32_t>(class_hash)};
  const auto java_id = static_cast<uint32_t>(thread);
  auto known = static_cast<uint32_t>(flags);
  if ((known & HW_BL_VIRTUAL) != 0 && owns_monitor(jni, java_id, nullptr)) known |= HW_BL_OWNS_MONITOR;
  Waiting* const waiting = wait_begins(jni, HW_BK_PARK, it, java_id, static_cast<uint32_t>(owner), known);
  return reinterpret_cast<jlong>(waiting);
}

void JNICALL hook_end(JNIEnv* jni, jclass, jlong waiting, jint flags, jlong due_ns) {
  wait_ends(jni, reinterpret_cast<Waiting*>(waiting), static_cast<uint32_t>(flags), due_ns);
}

void JNICALL hook_wakes(JNIEnv* jni, jclass, jint target, jint thread) {
  waking(jni, static_cast<uint32_t>(target), static_cast<uint32_t>(thread));
}

void JNICALL hook_held(JNIEnv* jni, jclass, jobject synchroniser, jint hash, jint thread, jlong start_ns,
                       jlong end_ns) {
  held(jni, {synchroniser, static_cast<uint32_t>(hash), 0}, static_cast<uint32_t>(thread), start_ns, end_ns);
}

constexpr LockListener kListener{hook_begin, hook_end, hook_wakes, hook_held, not_timed, monitor_begins, monitor_ends};

}  // namespace

const LockListener& lock_listener() noexcept { return kListener; }

}  // namespace headway::agent
