// Waits for contended monitors and in Object.wait, as records of locks.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include "wire/records.h"

namespace headway::agent {

// What virtual threads began in a recording before is no part of this one. Before monitor events are turned on.
void forget_monitor_waits(JNIEnv* jni) noexcept;
// The virtual thread `java_id`, which calls, is about to block on `on` (nullptr: on no monitor), and leaves its carrier with the
// monitor that it last waited for.
bool owns_monitor(JNIEnv* jni, uint32_t java_id, jobject on) noexcept;
// On the thread itself.
void monitor_begins(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object, bool is_timed) noexcept;
void monitor_ends(JNIEnv* jni, jthread thread, hw_blocker_kind kind, jobject object) noexcept;

}  // namespace headway::agent
