// The identity hash of a Java object.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

#include "agent/state/state.h"

namespace headway::agent {

// As System.identityHashCode gives it, where Java code did not bring it along. 0: unknown.
inline uint32_t identity_hash(jobject object) noexcept {
  jint hash = 0;
  if (object == nullptr || agent().jvmti->GetObjectHashCode(object, &hash) != JVMTI_ERROR_NONE) return 0;
  return static_cast<uint32_t>(hash);
}

}  // namespace headway::agent
