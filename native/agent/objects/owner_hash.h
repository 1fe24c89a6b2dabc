// Finds where a thread of this JVM keeps the state of its generator of identity hashes, so that a new object can get one
// that names its owner (hooks/java.base/java/lang/HeadwayCount0.java): 8 bits of the owner's number, 4 that check the
// others, 19 that differ.
#pragma once

#include <jni.h>

#include <cstdint>
#include <optional>

namespace headway::agent {

// From the beginning of the JVM's own thread object on, which java.lang.Thread.eetop points at. None: this JVM makes
// identity hashes in another way, or was asked to (-XX:hashCode).
std::optional<int64_t> hash_generator_offset(JNIEnv* jni) noexcept;

}  // namespace headway::agent
