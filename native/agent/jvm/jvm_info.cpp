#include "agent/jvm/jvm_info.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

// Drops a pending Java exception: none of ours may reach the program.
template <typename T>
T checked(JNIEnv* jni, T value) {
  if (jni->ExceptionCheck()) {
    jni->ExceptionClear();
    return T{};
  }
  return value;
}

std::string to_string(JNIEnv* jni, jstring text) {
  if (text == nullptr) return {};
  const char* chars = jni->GetStringUTFChars(text, nullptr);
  if (chars == nullptr) return {};
  std::string copy(chars);
  jni->ReleaseStringUTFChars(text, chars);
  return copy;
}

std::string jvmti_property(const char* name) {
  char* value = nullptr;
  if (agent().jvmti->GetSystemProperty(name, &value) != JVMTI_ERROR_NONE || value == nullptr) return {};
  std::string copy(value);
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(value));
  return copy;
}

std::string java_property(JNIEnv* jni, const char* name) {
  jclass system = checked(jni, jni->FindClass("java/lang/System"));
  if (system == nullptr) return {};
  jmethodID get = checked(jni, jni->GetStaticMethodID(system, "getProperty", "(Ljava/lang/String;)Ljava/lang/String;"));
  jstring key = checked(jni, jni->NewStringUTF(name));
  if (get == nullptr || key == nullptr) return {};
  return to_string(jni, static_cast<jstring>(checked(jni, jni->CallStaticObjectMethod(system, get, key))));
}

int available_processors(JNIEnv* jni) {
  jclass type = checked(jni, jni->FindClass("java/lang/Runtime"));
  if (type == nullptr) return 0;
  jmethodID get = checked(jni, jni->GetStaticMethodID(type, "getRuntime", "()Ljava/lang/Runtime;"));
  jmethodID processors = checked(jni, jni->GetMethodID(type, "availableProcessors", "()I"));
  if (get == nullptr || processors == nullptr) return 0;
  jobject runtime = checked(jni, jni->CallStaticObjectMethod(type, get));
  return runtime == nullptr ? 0 : checked(jni, jni->CallIntMethod(runtime, processors));
}

// The JVM's input arguments, as java.lang.management.RuntimeMXBean gives them but without loading it; one per line.
std::string input_arguments(JNIEnv* jni) {
  jclass vm = checked(jni, jni->FindClass("jdk/internal/misc/VM"));
  if (vm == nullptr) return {};
  jmethodID get = checked(jni, jni->GetStaticMethodID(vm, "getRuntimeArguments", "()[Ljava/lang/String;"));
  if (get == nullptr) return {};
  auto list = static_cast<jobjectArray>(checked(jni, jni->CallStaticObjectMethod(vm, get)));
  std::string text;
  const jsize count = list == nullptr ? 0 : jni->GetArrayLength(list);
  for (jsize i = 0; i < count; ++i) {
    auto one = static_cast<jstring>(checked(jni, jni->GetObjectArrayElement(list, i)));
    if (!text.empty()) text += '\n';
    text += to_string(jni, one);
    jni->DeleteLocalRef(one);
  }
  return text;
}

const char* collector() {
  constexpr struct {
    const char* flag;
    const char* name;
  } kCollectors[] = {{"UseSerialGC", "Serial"}, {"UseParallelGC", "Parallel"},     {"UseG1GC", "G1"},
                     {"UseZGC", "Z"},           {"UseShenandoahGC", "Shenandoah"}, {"UseEpsilonGC", "Epsilon"}};
  for (const auto& one : kCollectors) {
    if (agent().hotspot.bool_flag(one.flag).value_or(false)) return one.name;
  }
  return "";
}

// The main class out of "pkg.Main args", "module/pkg.Main args" or "path/app.jar args" (then nothing: the jar says).
std::string main_class_of(const std::string& command) {
  std::string first = command.substr(0, command.find(' '));
  if (first.ends_with(".jar")) return {};
  const size_t slash = first.rfind('/');
  return slash == std::string::npos ? first : first.substr(slash + 1);
}

// The first file of a class path whose name begins so, without its directories; empty: none.
std::string file_on(const std::string& path, const std::string& begins) {
  for (size_t start = 0; start < path.size();) {
    const size_t end = std::min(path.find(':', start), path.size());
    const std::string one = path.substr(start, end - start);
    const size_t slash = one.rfind('/');
    std::string name = slash == std::string::npos ? one : one.substr(slash + 1);
    if (name.starts_with(begins)) return name;
    start = end + 1;
  }
  return {};
}

}  // namespace

int jdk_major_version(jvmtiEnv* jvmti) noexcept {
  // The version number JVMTI gives is the JDK's since 9 (java.vm.specification.version would say the same).
  jint version = 0;
  if (jvmti->GetVersionNumber(&version) != JVMTI_ERROR_NONE) return 0;
  return (version & JVMTI_VERSION_MASK_MAJOR) >> JVMTI_VERSION_SHIFT_MAJOR;
}

void write_jvm_info(JNIEnv* jni) noexcept {
  if (jni->PushLocalFrame(64) != 0) {
    jni->ExceptionClear();
    return;
  }
  for (const char* key : {"java.version", "java.vm.name", "java.vm.version", "java.vm.vendor", "java.home"}) {
    write_info(key, java_property(jni, key));
  }
  const std::string command = jvmti_property("sun.java.command");
  agent().main_class = main_class_of(command);
  write_info("command", command);
  write_info("flags", input_arguments(jni));
  write_info("available_processors", std::to_string(available_processors(jni)));
  write_info("gc", collector());
  // What Kotlin's coroutines wait for is no park of a thread.
  const std::string paths = jvmti_property("java.class.path") + ":" + jvmti_property("jdk.module.path");
  if (const std::string jar = file_on(paths, "kotlinx-coroutines"); !jar.empty()) write_info("coroutines", jar);
  write_info("attached", agent().attached ? "true" : "false");
  if (agent().attached && agent().jdk_major >= 21) {
    // "shown or allowed": the JVM was started with -XX:+EnableDynamicAgentLoading, or it printed its warning
    write_info("dynamic_loading_warning", agent().warning_hidden ? "hidden" : "shown or allowed");
  }
  jni->PopLocalFrame(nullptr);
}

}  // namespace headway::agent
