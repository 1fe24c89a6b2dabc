// Java threads by their ids: java.lang.Thread.tid, HotSpot's JavaThread and the thread of the operating system behind
// them.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

namespace headway::agent {

// Looks java.lang.Thread's fields up; false: this JDK has none of that name, and ids are unknown. Live phase, once.
bool find_thread_fields(JNIEnv* jni) noexcept;
uint64_t java_thread_id(JNIEnv* jni, jthread thread) noexcept;  // 0: unknown
bool is_virtual_thread(JNIEnv* jni, jthread thread) noexcept;
// The OS thread of a Java thread; 0: it has ended meanwhile, or this JVM does not say.
uint32_t os_thread_of(JNIEnv* jni, jthread thread) noexcept;

}  // namespace headway::agent
