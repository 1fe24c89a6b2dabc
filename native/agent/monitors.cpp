// Contended monitors and Object.wait.
//
// JVMTI tells each contended enter before and after, on the thread itself, virtual or not (JDK 25 needs no capability
// for virtual threads here). What it does not tell:
//   - the owner: asking for it (GetObjectMonitorUsage) stops the program up to JDK 20 and costs a walk over all
//     threads' stacks later. Who released the monitor is what the kernel says: whoever wakes the waiter. Only when all
//     ends are the owners of monitors asked for that somebody has long waited for: they may be deadlocked.
//   - that a notified thread queues for the monitor once more: HotSpot's Object.wait ends for JVMTI when the thread is
//     first woken, which happens when the notifier has left the monitor. If somebody else is quicker, the rest of the
//     wait is not told (ObjectMonitor::reenter_internal posts nothing); a timed-out wait's second wait is, as an enter.
//   - that a thread was blocked already when the agent came: can_get_current_contended_monitor is for agents that came
//     at start-up. Such a thread's enter or wait is seen when it ends, and is recorded from then, marked so.
#include "agent/monitors.h"

#include <array>
#include <atomic>
#include <utility>

#include "agent/agent.h"
#include "agent/causal/causal.h"
#include "agent/locks.h"
#include "agent/thread_map.h"

namespace headway::agent {
namespace {

// A wait that a thread is in, and the recording it belongs to: a later one must not be told of its end.
struct Begun {
  Waiting* waiting = nullptr;
  uint64_t file_id = 0;  // of the thread's last event; 0: none yet
};

std::atomic<uint8_t> uses{0};  // of HookUse
bool is_used(HookUse use) { return (uses.load(std::memory_order_relaxed) & static_cast<uint8_t>(use)) != 0; }

thread_local Begun begun_here;
constinit ThreadMap<Begun> begun_by_virtual_threads;

// Who blocks on what; the id is 32 bits of the thread's.
struct Event {
  JNIEnv* jni;
  uint32_t java_id;
  bool on_virtual_thread;
};

Event event_of(JNIEnv* jni, jthread thread) {
  return {jni, static_cast<uint32_t>(java_thread_id(jni, thread)), is_virtual_thread(jni, thread)};
}

void begin(const Event& event, const ChunkFile& file, hw_blocker_kind kind, jobject object, uint32_t flags) {
  if (event.on_virtual_thread) flags |= HW_BL_VIRTUAL;
  Waiting* waiting = wait_begins(event.jni, kind, {object, identity_hash(object), 0}, event.java_id, 0, flags);
  if (!event.on_virtual_thread) {
    begun_here = {waiting, file.id()};
  } else if (waiting != nullptr && !begun_by_virtual_threads.put(event.java_id, {waiting, file.id()})) {
    wait_ends(event.jni, waiting, HW_BL_END_GUESSED);
  }
}

// What the thread began in this recording, if it did.
Waiting* take_begun(const Event& event, const ChunkFile& file) {
  const Begun begun = event.on_virtual_thread ? begun_by_virtual_threads.take(event.java_id)
                                              : std::exchange(begun_here, Begun{nullptr, file.id()});
  return begun.file_id == file.id() ? begun.waiting : nullptr;
}

void on_begin(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object, uint32_t flags) {
  const ChunkFile* file = recording();
  if (file != nullptr && is_used(HookUse::kLocks)) begin(event_of(jni, thread), *file, kind, object, flags);
}

void on_end(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object) {
  const ChunkFile* file = recording();
  if (file == nullptr || !is_used(HookUse::kLocks)) return;
  const Event event = event_of(jni, thread);
  // A virtual thread's notified wait ends with both a waited and an entered event on JDK 25: there an end without a
  // begin says nothing. Elsewhere it says that the thread was blocked before the agent came.
  const bool is_first = agent().attached && !event.on_virtual_thread && begun_here.file_id != file->id();
  Waiting* waiting = take_begun(event, *file);
  if (waiting == nullptr && is_first) {
    begin(event, *file, kind, object, HW_BL_ATTACHED);
    waiting = take_begun(event, *file);
  }
  if (waiting != nullptr) wait_ends(jni, waiting, 0);
}

// The causal profiler is told last that a wait begins and first that it ends: what it holds a thread up for is no wait.
void JNICALL on_contended_enter(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object) {
  on_begin(jni, thread, HW_BK_MONITOR, object, 0);
  if (is_used(HookUse::kCausal)) causal::wait_begins(jni, thread);
}

void JNICALL on_contended_entered(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object) {
  if (is_used(HookUse::kCausal)) causal::wait_ends(jni, thread, causal::Ending::kWoken);
  on_end(jni, thread, HW_BK_MONITOR, object);
}

void JNICALL on_wait(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jlong timeout_ms) {
  on_begin(jni, thread, HW_BK_WAIT, object, timeout_ms > 0 ? uint32_t{HW_BL_TIMED} : 0);
  if (is_used(HookUse::kCausal)) causal::wait_begins(jni, thread, timeout_ms > 0);
}

void JNICALL on_waited(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jboolean timed_out) {
  if (is_used(HookUse::kCausal)) {
    causal::wait_ends(jni, thread, timed_out == JNI_TRUE ? causal::Ending::kTimedOut : causal::Ending::kWoken);
  }
  on_end(jni, thread, HW_BK_WAIT, object);
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
    if (use == HookUse::kLocks) begun_by_virtual_threads.clear();
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
