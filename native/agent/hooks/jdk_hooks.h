// The hooks in the JDK: calls put into LockSupport, AbstractOwnableSynchronizer and VirtualThread that lead, by a class
// of ours in the boot loader, to the registered listeners (listeners.h).
#pragma once

#include <jni.h>
#include <jvmti.h>

#include "agent/hooks/hook_use.h"

namespace headway::agent {

// Defines the hook class (once per JVM), retransforms LockSupport and AbstractOwnableSynchronizer. Live phase only.
bool install_hooks(JNIEnv* jni, HookUse use = HookUse::kLocks) noexcept;
// Gives both classes back their own bytes once nobody wants the hooks. The hook class stays, inert.
void remove_hooks(JNIEnv* jni, HookUse use = HookUse::kLocks) noexcept;
// On a thread of the agent's, now and then: puts the call sites in again that another agent's redefinition threw out.
void poll_hooks(JNIEnv* jni) noexcept;
// Why install_hooks returned false, in a few words.
const char* hooks_problem() noexcept;
// The off-switch: whether the hook class calls its listener. Works at once, at any time, on any thread.
void switch_hooks(JNIEnv* jni, bool on, HookUse use = HookUse::kLocks) noexcept;
// Has the hook class report the holds that it has timed and not yet reported; or forget those, and those that go on.
// Both call Java, which waits for nobody.
void report_all_holds(JNIEnv* jni) noexcept;
void forget_holds(JNIEnv* jni) noexcept;
// JVMTI's ClassFileLoadHook; enabled only while the hooks themselves retransform, or a listener wants class files.
void JNICALL on_class_file_load(jvmtiEnv* jvmti, JNIEnv* jni, jclass redefined, jobject loader, const char* name,
                                jobject domain, jint length, const unsigned char* bytes, jint* new_length,
                                unsigned char** new_bytes);

}  // namespace headway::agent
