// Records of who a Java thread is: its name, group, flags and OS thread.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

#include "wire/records.h"

namespace headway::agent {

void announce_thread(JNIEnv* jni, jthread thread) noexcept;     // the calling one
void announce_last_name(JNIEnv* jni, jthread thread) noexcept;  // of the calling one, if it was renamed
void announce_existing_threads(JNIEnv* jni, uint16_t type = HW_THREAD_START) noexcept;

}  // namespace headway::agent
