// The recording of locks, turned on and taken out, and the agent's own Java thread that serves it meanwhile.
#pragma once

#include <jni.h>

namespace headway::agent {

// Turns locks on, if options ask for it: stacks, records, hooks, monitors, and the service thread. Says in the file
// whether it worked. Live phase only.
void begin_locks(JNIEnv* jni) noexcept;
// Silences locks when the JVM dies: from then on no class is retransformed.
void jvm_dies() noexcept;
// Gives the classes their own bytes back and lets the service thread end. Live phase, outside callbacks.
void take_locks_out() noexcept;

}  // namespace headway::agent
