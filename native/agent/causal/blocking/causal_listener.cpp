#include "agent/causal/blocking/causal_listener.h"

#include "agent/causal/blocking/blocking.h"

namespace headway::agent::causal {
namespace {

jboolean JNICALL hook_park_begins(JNIEnv*, jclass, jint alias, jboolean is_timed) {
  return park_begins(alias, is_timed == JNI_TRUE) ? JNI_TRUE : JNI_FALSE;
}

void JNICALL hook_park_ends(JNIEnv*, jclass, jint alias, jboolean is_timed) { park_ends(alias, is_timed == JNI_TRUE); }

void JNICALL hook_unparks(JNIEnv*, jclass, jint target) { waking(static_cast<uint32_t>(target)); }

void JNICALL hook_releases(JNIEnv*, jclass) { before_waking(); }

void monitor_begins(JNIEnv* jni, jthread thread, bool is_timed) noexcept { wait_begins(jni, thread, is_timed); }

void monitor_ends(JNIEnv* jni, jthread thread, bool timed_out) noexcept {
  wait_ends(jni, thread, timed_out ? Ending::kTimedOut : Ending::kWoken);
}

constexpr CausalListener kListener{hook_park_begins, hook_park_ends, hook_unparks,
                                   hook_releases,    monitor_begins, monitor_ends};

}  // namespace

const CausalListener& causal_listener() noexcept { return kListener; }

}  // namespace headway::agent::causal
