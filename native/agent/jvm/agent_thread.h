// Threads of the agent's own: Java threads called "headway", in the JVM's thread group, which programs do not list.
#pragma once

#include <jni.h>
#include <jvmti.h>

namespace headway::agent {

// For JVMTI's RunAgentThread; null when there is none to be had.
jthread new_headway_thread(JNIEnv* jni) noexcept;

}  // namespace headway::agent
