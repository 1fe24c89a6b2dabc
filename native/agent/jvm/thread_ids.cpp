#include "agent/jvm/thread_ids.h"

#include <sys/types.h>

#include "agent/state/state.h"

namespace headway::agent {
namespace {

// JNI's IsVirtualThread, by its place in the table of functions: the header we are compiled with may be older.
constexpr size_t kIsVirtualThread = 234;
using IsVirtualThread = jboolean(JNICALL*)(JNIEnv*, jobject);

}  // namespace

bool find_thread_fields(JNIEnv* jni) noexcept {
  jclass type = jni->FindClass("java/lang/Thread");
  if (type != nullptr) {
    agent().thread_eetop = jni->GetFieldID(type, "eetop", "J");
    if (agent().thread_eetop == nullptr) jni->ExceptionClear();
    agent().thread_tid = jni->GetFieldID(type, "tid", "J");
    if (agent().thread_tid == nullptr) jni->ExceptionClear();
    jni->DeleteLocalRef(type);
  } else {
    jni->ExceptionClear();
  }
  return agent().thread_tid != nullptr;
}

uint64_t java_thread_id(JNIEnv* jni, jthread thread) noexcept {
  if (agent().thread_tid == nullptr || thread == nullptr) return 0;
  return static_cast<uint64_t>(jni->GetLongField(thread, agent().thread_tid));
}

bool is_virtual_thread(JNIEnv* jni, jthread thread) noexcept {
  if (agent().jdk_major < 21) return false;
  void* const* functions = *reinterpret_cast<void***>(jni);
  return reinterpret_cast<IsVirtualThread>(functions[kIsVirtualThread])(jni, thread) == JNI_TRUE;
}

uint32_t os_thread_of(JNIEnv* jni, jthread thread) noexcept {
  const jlong eetop = jni->GetLongField(thread, agent().thread_eetop);
  const pid_t tid = agent().hotspot.os_thread_id(eetop);
  // Unchanged and not 0 now means that the JavaThread lived all the while: eetop is cleared before it is freed.
  return jni->GetLongField(thread, agent().thread_eetop) == eetop && tid > 0 ? static_cast<uint32_t>(tid) : 0;
}

}  // namespace headway::agent
