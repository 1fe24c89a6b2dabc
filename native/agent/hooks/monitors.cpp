// JVMTI's events of contended monitors and Object.wait, on the threads themselves, handed to the listeners.
#include "agent/hooks/monitors.h"

#include <array>
#include <atomic>

#include "agent/hooks/listeners.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

std::atomic<uint8_t> uses{0};  // of HookUse
bool is_used(HookUse use) { return (uses.load(std::memory_order_relaxed) & static_cast<uint8_t>(use)) != 0; }

// The causal profiler hears last that a wait begins and first that it ends: what it holds a thread up for is no wait.
void begins(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object, bool is_timed) {
  if (is_used(HookUse::kLocks)) listeners().locks->monitor_begins(jni, thread, kind, object, is_timed);
  if (is_used(HookUse::kCausal)) listeners().causal->monitor_begins(jni, thread, is_timed);
}

void ends(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object, bool timed_out) {
  if (is_used(HookUse::kCausal)) listeners().causal->monitor_ends(jni, thread, timed_out);
  if (is_used(HookUse::kLocks)) listeners().locks->monitor_ends(jni, thread, kind, object);
}

void JNICALL on_contended_enter(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object) {
  begins(jni, thread, HW_BK_MONITOR, object, false);
}

void JNICALL on_contended_entered(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object) {
  ends(jni, thread, HW_BK_MONITOR, object, false);
}

void JNICALL on_wait(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jlong timeout_ms) {
  begins(jni, thread, HW_BK_WAIT, object, timeout_ms > 0);
}

void JNICALL on_waited(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jboolean timed_out) {
  ends(jni, thread, HW_BK_WAIT, object, timed_out == JNI_TRUE);
}

}  // namespace

void add_monitor_callbacks(jvmtiEventCallbacks& callbacks) noexcept {
  callbacks.MonitorContendedEnter = on_contended_enter;
  callbacks.MonitorContendedEntered = on_contended_entered;
  callbacks.MonitorWait = on_wait;
  callbacks.MonitorWaited = on_waited;
}

void set_monitor_events(bool on, HookUse use) noexcept {
  jvmtiEnv* jvmti = agent().jvmti;
  const auto bit = static_cast<uint8_t>(use);
  if (!on && (uses.fetch_and(static_cast<uint8_t>(~bit)) & ~bit) != 0) return;  // others go on
  jvmtiCapabilities capabilities{};
  capabilities.can_generate_monitor_events = 1;
  if (on) {
    if (jvmti->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE) return;
    uses.fetch_or(bit);
  }
  // The ends first, and off last: what was seen to begin is seen to end.
  constexpr std::array<jvmtiEvent, 4> kEvents = {JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, JVMTI_EVENT_MONITOR_WAITED,
                                                 JVMTI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_WAIT};
  for (const jvmtiEvent event : kEvents) {
    jvmti->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, event, nullptr);
  }
  if (!on) jvmti->RelinquishCapabilities(&capabilities);
}

}  // namespace headway::agent
