// What hooks.cpp offers beside locks.h: the parts that the agent's events and its own thread need.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include "agent/locks.h"

namespace headway::agent {

// Why install_hooks returned false, in a few words.
const char* hooks_problem() noexcept;
// The off-switch: whether the hook class records anything, or tells the causal profiler. Works at once, at any time, on
// any thread.
void switch_hooks(JNIEnv* jni, bool on, HookUse use = HookUse::kLocks) noexcept;
// Has the hook class tell of the holds that it has timed and not yet told of; or forget those, and those that go on.
// Both call Java, which waits for nobody.
void tell_all_holds(JNIEnv* jni) noexcept;
void forget_holds(JNIEnv* jni) noexcept;
// JVMTI's ClassFileLoadHook; enabled only while hooks.cpp itself retransforms.
void JNICALL on_class_file_load(jvmtiEnv* jvmti, JNIEnv* jni, jclass redefined, jobject loader, const char* name,
                                jobject domain, jint length, const unsigned char* bytes, jint* new_length,
                                unsigned char** new_bytes);

// --- care.cpp --------------------------------------------------------------------------------------------------------
// Turns locks on, if options ask for it: stacks, records, hooks, monitors, and the agent's own thread, which then looks
// after them. Says in the file whether it worked. Live phase only.
void begin_locks(JNIEnv* jni) noexcept;
// No more lock records: those still going on are written as open. Any thread, any phase; needs the file still open.
void silence_locks() noexcept;
// The same when the JVM dies: from then on no class is retransformed.
void jvm_dies() noexcept;
// Gives the classes their own bytes back and lets the agent's thread end. Live phase, outside callbacks.
void take_locks_out() noexcept;

}  // namespace headway::agent
