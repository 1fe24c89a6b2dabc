// What headway.api.Counters calls in a program (java/api). The JVM looks for native methods in the libraries of its agents, too:
// so without headway they are not there, which is how the class knows.
#include <jni.h>

#include <memory>
#include <string>

#include "agent/counters/own_group.h"
#include "agent/jvm/boot_classes.h"

// The JVM finds them by their names.
#define HW_EXPORT extern "C" __attribute__((visibility("default")))

namespace headway::agent {
namespace {

constexpr jint kVersion = 1;

std::string text_of(JNIEnv* jni, jobjectArray texts, jsize i) {
  auto* const text = static_cast<jstring>(jni->GetObjectArrayElement(texts, i));
  const char* const chars = text == nullptr ? nullptr : jni->GetStringUTFChars(text, nullptr);
  if (chars == nullptr) return {};
  std::string copy(chars);
  jni->ReleaseStringUTFChars(text, chars);
  jni->DeleteLocalRef(text);
  return copy;
}

// The reason why there is none is in words.
std::unique_ptr<OwnGroup> open_group(JNIEnv* jni, jobjectArray names, bool is_of_thread, jint cpu,
                                     std::string* reason) {
  const jsize many = jni->GetArrayLength(names);
  if (many > static_cast<jsize>(kMostEventsOfGroup)) {
    *reason = "more than " + std::to_string(kMostEventsOfGroup) + " events in a group";
    return nullptr;
  }
  CounterGroup group(static_cast<size_t>(many));
  for (jsize i = 0; i < many; ++i) {
    const std::string name = text_of(jni, names, i);
    if (!no_exception(jni)) {
      *reason = "the JVM has no memory left";
      return nullptr;
    }
    if (!named_event(name, &group[static_cast<size_t>(i)])) {
      *reason = "event " + name + ": there is no generic event and no raw code of that name";
      return nullptr;
    }
  }
  return OwnGroup::open(group, is_of_thread, cpu < 0 ? kAnyCpu : cpu, reason);
}

}  // namespace
}  // namespace headway::agent

HW_EXPORT JNIEXPORT jint JNICALL Java_headway_api_Counters_version(JNIEnv*, jclass) { return headway::agent::kVersion; }

HW_EXPORT JNIEXPORT jlong JNICALL Java_headway_api_Counters_open(JNIEnv* jni, jclass, jobjectArray names,
                                                                 jboolean is_of_thread, jint cpu,
                                                                 jobjectArray reasons) {
  std::string reason;
  auto group = headway::agent::open_group(jni, names, is_of_thread == JNI_TRUE, cpu, &reason);
  if (group == nullptr) {
    if (jstring text = jni->NewStringUTF(reason.c_str()); text != nullptr) jni->SetObjectArrayElement(reasons, 0, text);
  }
  return reinterpret_cast<jlong>(group.release());
}

HW_EXPORT JNIEXPORT void JNICALL Java_headway_api_Counters_read(JNIEnv* jni, jclass, jlong handle, jlongArray counts) {
  auto* const group = reinterpret_cast<headway::agent::OwnGroup*>(handle);
  int64_t numbers[headway::agent::kMostEventsOfGroup];
  group->read_and_reset(numbers);
  static_assert(sizeof(jlong) == sizeof(int64_t));
  jni->SetLongArrayRegion(counts, 0, static_cast<jsize>(group->events()), reinterpret_cast<const jlong*>(numbers));
}

HW_EXPORT JNIEXPORT void JNICALL Java_headway_api_Counters_close(JNIEnv*, jclass, jlong handle) {
  delete reinterpret_cast<headway::agent::OwnGroup*>(handle);
}
