// Where the object is to which a handle of JNI leads.
#pragma once

#include <jni.h>

#include <cstdint>

namespace headway::agent {

// The address, as the JVM's collectors see it; the handle's low bits say of what kind it is. Only where it was tried that
// handles lead to objects (HeadwayCount0.areWhereHandlesLead).
inline uint64_t address_in(jobject handle) noexcept {
  const auto* const at = reinterpret_cast<const uint64_t*>(reinterpret_cast<uint64_t>(handle) & ~uint64_t{3});
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

}  // namespace headway::agent
