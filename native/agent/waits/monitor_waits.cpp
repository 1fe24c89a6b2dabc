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
#include "agent/waits/monitor_waits.h"

#include <utility>

#include "agent/core/thread_map.h"
#include "agent/jvm/identity_hash.h"
#include "agent/jvm/thread_ids.h"
#include "agent/locks/hook_cost.h"
#include "agent/state/state.h"
#include "agent/waits/blockers.h"
#include "agent/waits/owned_monitors.h"

namespace headway::agent {
namespace {

// Whether virtual threads leave their carriers where they wait for a monitor, or own one (JEP 491).
bool unmounts_with_monitors() {
  constexpr int kFirst = 24;  // JDK
  return agent().jdk_major >= kFirst;
}

// A wait that a thread is in, and the recording it belongs to: a later one must not hear of its end.
struct Begun {
  Waiting* waiting = nullptr;
  uint64_t file_id = 0;  // of the thread's last event; 0: none yet
};

thread_local Begun begun_here;
constinit ThreadMap<Begun> begun_by_virtual_threads;

// Who blocks on what; the id is 32 bits of the thread's.
struct MonitorEvent {
  JNIEnv* jni;
  uint32_t java_id;
  bool on_virtual_thread;
};

MonitorEvent event_of(JNIEnv* jni, jthread thread) {
  return {jni, static_cast<uint32_t>(java_thread_id(jni, thread)), is_virtual_thread(jni, thread)};
}

void begin(const MonitorEvent& event, const ChunkFile& file, hw_blocker_kind kind, jobject object, uint32_t flags) {
  if (event.on_virtual_thread) {
    // While it keeps its carrier, the kernel tells who woke that.
    flags |= HW_BL_VIRTUAL | (unmounts_with_monitors() ? 0 : HW_BL_PINNED);
    if (owns_monitor(event.jni, event.java_id, object)) flags |= HW_BL_OWNS_MONITOR;
  }
  Waiting* waiting = wait_begins(event.jni, kind, {object, identity_hash(object), 0}, event.java_id, 0, flags);
  if (!event.on_virtual_thread) {
    begun_here = {waiting, file.id()};
  } else if (waiting != nullptr && !begun_by_virtual_threads.put(event.java_id, {waiting, file.id()})) {
    wait_ends(event.jni, waiting, HW_BL_END_GUESSED);
  }
}

// What the thread began in this recording, if it did.
Waiting* take_begun(const MonitorEvent& event, const ChunkFile& file) {
  const Begun begun = event.on_virtual_thread ? begun_by_virtual_threads.take(event.java_id)
                                              : std::exchange(begun_here, Begun{nullptr, file.id()});
  return begun.file_id == file.id() ? begun.waiting : nullptr;
}

}  // namespace

bool owns_monitor(JNIEnv* jni, uint32_t java_id, jobject on) noexcept {
  if (!unmounts_with_monitors()) return false;
  const HookCost::Call timed;
  return owns_entered(jni, java_id, on);
}

void forget_monitor_waits(JNIEnv* jni) noexcept {
  begun_by_virtual_threads.clear();
  forget_entered(jni);
}

void monitor_begins(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object, bool is_timed) noexcept {
  const ChunkFile* file = recording();
  if (file != nullptr) begin(event_of(jni, thread), *file, kind, object, is_timed ? uint32_t{HW_BL_TIMED} : 0);
}

void monitor_ends(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object) noexcept {
  const ChunkFile* file = recording();
  if (file == nullptr) return;
  const MonitorEvent event = event_of(jni, thread);
  // A virtual thread's notified wait ends with both a waited and an entered event on JDK 25: there an end without a
  // begin says nothing. Elsewhere it says that the thread was blocked before the agent came.
  const bool is_first = agent().attached && !event.on_virtual_thread && begun_here.file_id != file->id();
  Waiting* waiting = take_begun(event, *file);
  if (waiting == nullptr && is_first) {
    begin(event, *file, kind, object, HW_BL_ATTACHED);
    waiting = take_begun(event, *file);
  }
  if (waiting != nullptr) wait_ends(jni, waiting, 0);
  if (waiting != nullptr && event.on_virtual_thread && unmounts_with_monitors()) {
    const HookCost::Call timed;
    note_entered(jni, event.java_id, object);
  }
}

}  // namespace headway::agent
