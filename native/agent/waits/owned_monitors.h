// Whether a virtual thread that blocks still owns the monitor that it last waited for, asked of the JVM by the thread itself.
// From JDK 24 on it leaves its carrier then, and nobody tells when it lets the monitor go.
#pragma once

#include <jni.h>

#include <cstdint>

namespace headway::agent {

// The calling virtual thread has entered a monitor after waiting for it.
void note_entered(JNIEnv* jni, uint32_t java_id, jobject monitor) noexcept;
// The calling virtual thread is about to block, on `on` (nullptr: on nothing, or something else than a monitor): does it own
// the monitor that it entered last? False where it is that one which it is about to wait on, or nothing is known.
bool owns_entered(JNIEnv* jni, uint32_t java_id, jobject on) noexcept;
// What threads entered before is forgotten.
void forget_entered(JNIEnv* jni) noexcept;

}  // namespace headway::agent
