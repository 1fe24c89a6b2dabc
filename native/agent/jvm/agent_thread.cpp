#include "agent/jvm/agent_thread.h"

#include "agent/jvm/boot_classes.h"
#include "agent/state/state.h"

namespace headway::agent {

// It has no context class loader nor inherited thread locals of the program's.
jthread new_headway_thread(JNIEnv* jni) noexcept {
  jint count = 0;
  jthreadGroup* groups = nullptr;
  if (agent().jvmti->GetTopThreadGroups(&count, &groups) != JVMTI_ERROR_NONE || count == 0) return nullptr;
  jthreadGroup system = groups[0];
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(groups));
  jclass type = jni->FindClass("java/lang/Thread");
  if (!no_exception(jni)) return nullptr;
  jmethodID make =
      jni->GetMethodID(type, "<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;Ljava/lang/String;JZ)V");
  jmethodID set_loader = jni->GetMethodID(type, "setContextClassLoader", "(Ljava/lang/ClassLoader;)V");
  jstring name = no_exception(jni) ? jni->NewStringUTF("headway") : nullptr;
  if (name == nullptr) return nullptr;
  jthread thread = jni->NewObject(type, make, system, nullptr, name, jlong{0}, jboolean{JNI_FALSE});
  if (no_exception(jni) && thread != nullptr) jni->CallVoidMethod(thread, set_loader, nullptr);
  return no_exception(jni) ? thread : nullptr;
}

}  // namespace headway::agent
