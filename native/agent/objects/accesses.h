// Counts reads and writes of fields and array elements by the program's own classes, by thread and class
// (docs/decisions/0016-accesses.md): each class gets counts as it is loaded.
#pragma once

#include <jni.h>

#include "agent/hooks/listeners.h"

namespace headway::agent {

// Counts from now on, if options ask for it, and says in the file whether that worked. At the start of the JVM only;
// `end_silenced` is called when the recorder has asked for silence.
void begin_accesses(JNIEnv* jni, void (*end_silenced)() noexcept) noexcept;
// On a thread that ends: its sums are written.
void end_accesses_of_thread(uint64_t java_id) noexcept;
// No more: writes the sums. Any thread, any phase; needs the file still open. `dies`: the JVM ends.
void silence_accesses(bool dies) noexcept;
// What changes classes as they are loaded.
const ClassFileListener& access_listener() noexcept;

}  // namespace headway::agent
