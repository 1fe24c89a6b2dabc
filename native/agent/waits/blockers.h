// Waits for locks as the program's threads begin and end them: the JVM's side of a recording of locks
// (docs/decisions/0005-locks.md). It gives weak references, class and thread names, and stacks to locks/lock_records.h.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

#include "wire/records.h"

namespace headway::agent {

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
// It goes on. The OS thread may be another one by now (virtual threads). `flags`: more that became known. `due_ns`: when
// its time was over, unless somebody ended it before; 0: it has no time, or nobody knows it.
void wait_ends(JNIEnv* jni, Waiting* waiting, uint32_t flags, int64_t due_ns = 0) noexcept;
// Names a recording of locks, for as long as the process lives; nullptr: none goes on.
struct LockRecording;
LockRecording* lock_recording() noexcept;
// Another thread is parked, and began to be before that recording. nullptr too if the recording has ended, or the
// thread has reported it itself. `stack_id`: where it is parked, 0 if that is not known.
Waiting* seen_to_wait(JNIEnv* jni, LockRecording* into, const Blocker& blocker, uint32_t java_id, uint32_t owner,
                      uint32_t flags, uint32_t stack_id) noexcept;
// Whether nobody has reported its end yet.
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
// On the service thread, about once a second and after each collection: finds dead blockers.
void poll_blockers(JNIEnv* jni) noexcept;

}  // namespace headway::agent
