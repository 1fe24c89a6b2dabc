// The JNI environment of the calling thread.
#pragma once

#include <jni.h>

#include "agent/state/state.h"

namespace headway::agent {

// Null: the JVM does not know the thread, or is not there yet.
inline JNIEnv* this_jni() noexcept {
  void* env = nullptr;
  if (agent().vm == nullptr || agent().vm->GetEnv(&env, JNI_VERSION_1_8) != JNI_OK) return nullptr;
  return static_cast<JNIEnv*>(env);
}

}  // namespace headway::agent
