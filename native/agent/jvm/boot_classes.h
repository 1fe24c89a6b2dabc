// Java classes of headway's own that are defined in the boot loader: the hook class (hooks/) and that of progress
// points (causal/points/point_class.cpp).
//
// Defined by JNI: appending to the boot class path prints a class-sharing warning into the program's output.
// RegisterNatives prints a warning for each method of a class of the JDK, unless a method of the JDK is what called the
// native code that calls it. So natives are bound in the ClassPrepare event of the class's initialisation, which
// Unsafe.ensureClassInitialized asks for.
#pragma once

#include <jni.h>

#include <span>
#include <string>
#include <string_view>

namespace headway::agent {

// True unless an exception is pending, which is cleared.
bool no_exception(JNIEnv* jni) noexcept;
// A class of the boot loader that is loaded or can be, without initialising it and without asking any other loader.
jclass boot_class(JNIEnv* jni, const char* name) noexcept;
// jdk.internal.misc.Unsafe's class and instance; null where this JDK builds it in another way.
struct TheUnsafe {
  jclass type = nullptr;
  jobject object = nullptr;
};
TheUnsafe the_unsafe(JNIEnv* jni) noexcept;

JNINativeMethod native_method(const char* name, const char* descriptor, void* function) noexcept;

struct BootClass {
  std::string_view stem;  // "java/lang/HeadwayPoint"; the digit behind it counts the copies of this library
  std::span<const unsigned char> file;  // of the class with the digit 0
  std::span<const JNINativeMethod> natives;
  std::string name = {};  // once it is defined
  jclass type = nullptr;  // global reference, likewise
};

// Once in a JVM. A class of the name that is there already belongs to another copy of this library, from an attach to a
// JVM that sees other files than its recorder; its natives can't be bound again without a warning. Not null: what is in
// the way.
const char* define_boot_class(JNIEnv* jni, BootClass& wanted) noexcept;
// In every ClassPrepare event, before anything else: binds a class that is being defined here; true: it was one.
bool prepare_boot_class(JNIEnv* jni, jclass type) noexcept;

}  // namespace headway::agent
