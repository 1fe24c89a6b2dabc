// What the JVM says about itself (version, flags, command, collector), written once at start-up or attach.
#pragma once

#include <jni.h>
#include <jvmti.h>

namespace headway::agent {

void write_jvm_info(JNIEnv* jni) noexcept;
int jdk_major_version(jvmtiEnv* jvmti) noexcept;  // 0: unknown

}  // namespace headway::agent
