// Counts what the program really allocates, by thread, class and site (docs/decisions/0013-allocations.md): the JVM tells
// of each object, or of a sample of them.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

namespace headway::agent {

// JVMTI's SampledObjectAlloc.
void JNICALL object_allocated(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread, jobject object, jclass type, jlong size);

// While the agent is loaded: threads that begin from now on draw their first sample by the interval that is asked for.
void prepare_allocations() noexcept;
// Counts from now on, if options ask for it, and says in the file whether that worked. Live phase only; `end_silenced` is
// called when the recorder has asked for silence.
void begin_allocations(JNIEnv* jni, void (*end_silenced)() noexcept) noexcept;
// No more: writes the sums. Any thread, any phase; needs the file still open. `dies`: the JVM ends.
void silence_allocations(bool dies) noexcept;

}  // namespace headway::agent
