// Locks: every park with its blocker and waker, contended monitors, Object.wait (docs/decisions/0005-locks.md).
//
// Three parts that know each other only by this header:
//   hooks.cpp     puts Hook.class into the boot loader and redirects call sites to it; turns JNI calls into the calls
//   below blockers.cpp  (with waiting.cpp, lock_table.cpp) who an object is, who waits now, sums, records stacks.cpp
//   numbers stacks; monitors.cpp turns JVMTI's monitor events into the calls below
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>
#include <string_view>

#include "wire/records.h"

namespace headway::agent {

enum class HookUse : uint8_t { kLocks = 1, kCausal = 2 };  // who wants the hooks and events; maybe both

// --- blockers.cpp ----------------------------------------------------------------------------------------------------
// A wait in progress; stays at its address until wait_ends. Opaque to its users; nullptr: not recorded.
struct Waiting;

// What a thread blocks on: its identity hash, and its class's (0: not known). All 0: a park without a blocker.
struct Blocker {
  jobject object;
  uint32_t hash;
  uint32_t class_hash;
};
// The calling thread is about to block. `java_id` is the calling thread's, `owner` the id of the thread that owns the
// exclusive synchroniser or 0. `flags`: hw_block_flags that are known already. Takes no JVM lock and, after warm-up, no
// memory.
Waiting* wait_begins(JNIEnv* jni, hw_blocker_kind kind, const Blocker& blocker, uint32_t java_id, uint32_t owner,
                     uint32_t flags) noexcept;
// It goes on. The OS thread may be another one by now (virtual threads). `flags`: more that became known.
void wait_ends(JNIEnv* jni, Waiting* waiting, uint32_t flags) noexcept;
// Names a recording of locks, for as long as the process lives; nullptr: none goes on.
struct LockRecording;
LockRecording* lock_recording() noexcept;
// Another thread is parked, and began to be before that recording. nullptr too if the recording has ended, or the
// thread has told of it itself.
Waiting* seen_to_wait(JNIEnv* jni, LockRecording* into, const Blocker& blocker, uint32_t java_id, uint32_t owner,
                      uint32_t flags) noexcept;
// Whether nobody has told its end yet.
bool wait_goes_on(Waiting* waiting) noexcept;
// The calling thread `java_id` unparks `target`; does nothing when that one does not wait. The first waking counts.
void waking(JNIEnv* jni, uint32_t target, uint32_t java_id) noexcept;
// Thread `java_id` held an exclusive synchroniser, which it acquired while others were queued.
void held(JNIEnv* jni, const Blocker& synchroniser, uint32_t java_id, int64_t start_ns, int64_t end_ns) noexcept;
// So many holds began that nobody will tell of.
void not_timed(uint32_t holds) noexcept;
// A thread ends: what it still seems to wait in (attached in the middle of a park) is over.
void waiter_dies(uint32_t java_id) noexcept;
// Creates the live table beside the spool file. False: no room; then locks are off.
bool start_lock_records(JNIEnv* jni) noexcept;
// Writes what still waits as open blocks, lets the table go. Idempotent; also at VM death.
void end_lock_records() noexcept;
// On the agent's own thread, about once a second and after each collection: finds dead blockers.
void look_after_blockers(JNIEnv* jni) noexcept;

// --- stacks.cpp ------------------------------------------------------------------------------------------------------
// Numbers the calling thread's Java stack (platform or virtual), without headway's frames, writing HW_METHOD and
// HW_STACK records for what is new. 0: none could be taken. Costs microseconds: its callers decide how often.
uint32_t take_stack(JNIEnv* jni) noexcept;
bool start_stacks(JNIEnv* jni) noexcept;
void end_stacks() noexcept;

// --- class_locks.cpp -------------------------------------------------------------------------------------------------
// Of an int[] that the calling thread is about to enter: what to call it where it is the JVM's own lock of a class
// ("class initialisation for com.acme.Foo", or without the name), in UTF-8; returns the bytes, 0: it is the program's.
size_t class_lock_name(JNIEnv* jni, jobject int_array, char* out, size_t capacity) noexcept;
// Asks for what class_lock_name() needs; without it no such lock is told from others.
void start_class_locks() noexcept;

// --- monitors.cpp ----------------------------------------------------------------------------------------------------
// Capabilities and callbacks for contended monitors and Object.wait; called with the others in events.cpp.
void set_monitor_events(bool on, HookUse use = HookUse::kLocks) noexcept;

// What the Java name of the hook class begins with (a digit follows): its frames are left out of stacks.
inline constexpr std::string_view kHookClass = "jdk.internal.misc.HeadwayHook";

// --- hooks.cpp -------------------------------------------------------------------------------------------------------
// Defines the hook class (once per JVM), retransforms LockSupport and AbstractOwnableSynchronizer. Live phase only.
bool install_hooks(JNIEnv* jni, HookUse use = HookUse::kLocks) noexcept;
// Gives both classes back their own bytes once nobody wants the hooks. The hook class stays, inert.
void remove_hooks(JNIEnv* jni, HookUse use = HookUse::kLocks) noexcept;
// On the agent's own thread: has another agent's redefinition thrown our call sites out? Then puts them in again.
void look_after_hooks(JNIEnv* jni) noexcept;
// The identity hash of an object, as System.identityHashCode gives it, where Java code did not bring it along.
uint32_t identity_hash(jobject object) noexcept;

}  // namespace headway::agent
