// Recognises the locks that the JVM itself takes to initialise classes: up to JDK 23 HotSpot locks an int[0] for each.
#pragma once

#include <jni.h>

#include <cstddef>

namespace headway::agent {

// Of an int[] that the calling thread is about to enter: what to call it where it is the JVM's own lock of a class
// ("class initialisation for com.acme.Foo", or without the name), in UTF-8; returns the bytes, 0: it is the program's.
size_t class_lock_name(JNIEnv* jni, jobject int_array, char* out, size_t capacity) noexcept;
// Asks for what class_lock_name() needs; without it no such lock is recognised.
void start_class_locks() noexcept;

}  // namespace headway::agent
