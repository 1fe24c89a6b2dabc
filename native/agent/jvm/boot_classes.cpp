#include "agent/jvm/boot_classes.h"

#include <vector>

#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr int kMostCopies = 10;

thread_local const BootClass* binding = nullptr;
thread_local bool bound = false;

// The class file under another number. The name stands in its constant pool wherever it is used; a longer or shorter
// one would move things.
std::vector<jbyte> numbered(const BootClass& wanted) {
  const std::string_view bytes(reinterpret_cast<const char*>(wanted.file.data()), wanted.file.size());
  std::vector<jbyte> copy(bytes.begin(), bytes.end());
  for (size_t at = bytes.find(wanted.stem); at != std::string_view::npos; at = bytes.find(wanted.stem, at + 1)) {
    copy[at + wanted.stem.size()] = wanted.name.back();
  }
  return copy;
}

// Fields of the JDK that the class needs and does not find are an exception.
const char* initialise(JNIEnv* jni, const BootClass& wanted, jclass type) {
  const TheUnsafe unsafe = the_unsafe(jni);
  if (unsafe.object == nullptr) return "this JDK's Unsafe is built in another way";
  jmethodID prepare = jni->GetMethodID(unsafe.type, "ensureClassInitialized", "(Ljava/lang/Class;)V");
  if (!no_exception(jni) || prepare == nullptr) return "this JDK's Unsafe is built in another way";
  jvmtiEnv* jvmti = agent().jvmti;
  jthread thread = nullptr;
  jvmti->GetCurrentThread(&thread);
  binding = &wanted;
  bound = false;
  jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, thread);
  jni->CallVoidMethod(unsafe.object, prepare, type);
  jvmti->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_PREPARE, thread);
  binding = nullptr;
  if (!no_exception(jni)) return "this JDK's locks and threads are built in another way";
  return bound ? nullptr : "the methods of headway's class could not be bound";
}

}  // namespace

bool no_exception(JNIEnv* jni) noexcept {
  if (jni->ExceptionCheck() == JNI_FALSE) return true;
  jni->ExceptionClear();
  return false;
}

jclass boot_class(JNIEnv* jni, const char* name) noexcept {
  using Find = jclass(JNICALL*)(JNIEnv*, const char*);
  static const auto find = reinterpret_cast<Find>(libjvm_symbol("JVM_FindClassFromBootLoader"));
  jclass type = find == nullptr ? nullptr : find(jni, name);
  return no_exception(jni) ? type : nullptr;
}

TheUnsafe the_unsafe(JNIEnv* jni) noexcept {
  jclass type = boot_class(jni, "jdk/internal/misc/Unsafe");
  if (type == nullptr) return {};
  jmethodID get = jni->GetStaticMethodID(type, "getUnsafe", "()Ljdk/internal/misc/Unsafe;");
  if (!no_exception(jni) || get == nullptr) return {};
  jobject object = jni->CallStaticObjectMethod(type, get);
  return no_exception(jni) ? TheUnsafe{type, object} : TheUnsafe{};
}

JNINativeMethod native_method(const char* name, const char* descriptor, void* function) noexcept {
  return {const_cast<char*>(name), const_cast<char*>(descriptor), function};
}

const char* define_boot_class(JNIEnv* jni, BootClass& wanted) noexcept {
  if (wanted.type != nullptr) return nullptr;
  wanted.name = std::string(wanted.stem) + '0';
  for (int copy = 0; copy < kMostCopies; ++copy) {
    wanted.name.back() = static_cast<char>('0' + copy);
    if (jclass taken = boot_class(jni, wanted.name.c_str())) {
      jni->DeleteLocalRef(taken);
      continue;
    }
    const std::vector<jbyte> bytes = numbered(wanted);
    jclass type = jni->DefineClass(wanted.name.c_str(), nullptr, bytes.data(), static_cast<jsize>(bytes.size()));
    if (!no_exception(jni) || type == nullptr) return "the JVM refused headway's class";
    if (const char* const problem = initialise(jni, wanted, type)) return problem;
    wanted.type = static_cast<jclass>(jni->NewGlobalRef(type));
    jni->DeleteLocalRef(type);
    return wanted.type != nullptr ? nullptr : "no memory";
  }
  return "too many copies of the agent are in this JVM";
}

bool prepare_boot_class(JNIEnv* jni, jclass type) noexcept {
  if (binding == nullptr) return false;
  char* signature = nullptr;
  if (agent().jvmti->GetClassSignature(type, &signature, nullptr) != JVMTI_ERROR_NONE) return true;
  if (std::string_view(signature) == 'L' + binding->name + ';') {
    const auto count = static_cast<jint>(binding->natives.size());
    bound = jni->RegisterNatives(type, binding->natives.data(), count) == JNI_OK;
    bound = no_exception(jni) && bound;
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return true;
}

}  // namespace headway::agent
