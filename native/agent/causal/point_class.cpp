#include "agent/causal/point_class.h"

#include <sys/mman.h>

#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "agent/causal/ledger.h"
#include "point_class_file.h"

namespace headway::agent::causal {
namespace {

constexpr int kMostCopies = 10;  // of the class: one for each copy of this library in the JVM
constexpr char kUnsafe[] = "jdk/internal/misc/Unsafe";

// Never destroyed, like the agent.
struct PointClass {
  std::string name;
  jclass type = nullptr;  // global reference
  unsigned char* cells = nullptr;
};
PointClass& point_class() {
  static PointClass* const instance = new PointClass;
  return *instance;
}

bool no_exception(JNIEnv* jni) {
  if (jni->ExceptionCheck() == JNI_FALSE) return true;
  jni->ExceptionClear();
  return false;
}

jclass boot_class(JNIEnv* jni, const char* name) {
  using Find = jclass(JNICALL*)(JNIEnv*, const char*);
  static const auto find = reinterpret_cast<Find>(libjvm_symbol("JVM_FindClassFromBootLoader"));
  jclass type = find == nullptr ? nullptr : find(jni, name);
  return no_exception(jni) ? type : nullptr;
}

// --- natives ---------------------------------------------------------------------------------------------------------

jlong JNICALL native_cells(JNIEnv*, jclass) { return reinterpret_cast<jlong>(point_class().cells); }
jlong JNICALL native_clock(JNIEnv*, jclass) { return now_ns() - inserted_ns(); }
void JNICALL native_settle(JNIEnv*, jclass) {
  if (is_on()) before_waking();
}

template <uint32_t (*Find)(std::string_view)>
jint JNICALL native_number(JNIEnv* jni, jclass, jstring name) {
  const char* text = name == nullptr ? nullptr : jni->GetStringUTFChars(name, nullptr);
  if (text == nullptr) {
    no_exception(jni);
    return 0;
  }
  const uint32_t cell = Find(text);
  jni->ReleaseStringUTFChars(name, text);
  return static_cast<jint>(cell);
}

JNINativeMethod native_method(const char* name, const char* descriptor, void* function) {
  return {const_cast<char*>(name), const_cast<char*>(descriptor), function};
}

// As in hooks.cpp: the natives are bound in the ClassPrepare event that Unsafe.ensureClassInitialized brings about,
// because a JVM warns of natives that anybody but the JDK binds to a class of the JDK.
thread_local bool binding = false;
thread_local bool bound = false;

bool bind_natives(JNIEnv* jni, jclass type) {
  const JNINativeMethod methods[] = {
      native_method("cells", "()J", reinterpret_cast<void*>(native_cells)),
      native_method("clock", "()J", reinterpret_cast<void*>(native_clock)),
      native_method("settle", "()V", reinterpret_cast<void*>(native_settle)),
      native_method("point", "(Ljava/lang/String;)I", reinterpret_cast<void*>(native_number<api_point>)),
      native_method("pair", "(Ljava/lang/String;)I", reinterpret_cast<void*>(native_number<api_pair>)),
  };
  const bool done = jni->RegisterNatives(type, methods, std::size(methods)) == JNI_OK;
  return no_exception(jni) && done;
}

bool initialise(JNIEnv* jni, jclass type) {
  jclass unsafe_type = boot_class(jni, kUnsafe);
  if (unsafe_type == nullptr) return false;
  jmethodID get = jni->GetStaticMethodID(unsafe_type, "getUnsafe", "()Ljdk/internal/misc/Unsafe;");
  jmethodID prepare =
      no_exception(jni) ? jni->GetMethodID(unsafe_type, "ensureClassInitialized", "(Ljava/lang/Class;)V") : nullptr;
  if (!no_exception(jni) || prepare == nullptr) return false;
  jobject unsafe = jni->CallStaticObjectMethod(unsafe_type, get);
  if (!no_exception(jni)) return false;
  jvmtiEnv* jvmti = agent().jvmti;
  jthread thread = nullptr;
  jvmti->GetCurrentThread(&thread);
  binding = true;
  bound = false;
  jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, thread);
  jni->CallVoidMethod(unsafe, prepare, type);
  jvmti->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_PREPARE, thread);
  binding = false;
  return no_exception(jni) && bound;
}

// The class file under another number, as in hooks.cpp.
std::vector<jbyte> class_file(std::string_view name) {
  const std::string_view bytes(reinterpret_cast<const char*>(kPointClassFile), sizeof(kPointClassFile));
  std::vector<jbyte> copy(bytes.begin(), bytes.end());
  const std::string_view stem = name.substr(0, name.size() - 1);
  for (size_t at = bytes.find(stem); at != std::string_view::npos; at = bytes.find(stem, at + 1)) {
    copy[at + stem.size()] = name.back();
  }
  return copy;
}

bool reserve_cells() {
  PointClass& self = point_class();
  if (self.cells != nullptr) return true;
  void* memory = mmap(nullptr, size_t{kStripes} * kStripeBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  self.cells = static_cast<unsigned char*>(memory);
  return true;
}

const char* define(JNIEnv* jni) {
  PointClass& self = point_class();
  std::string name = "java/lang/HeadwayPoint0";
  for (int copy = 0; copy < kMostCopies; ++copy) {
    name.back() = static_cast<char>('0' + copy);
    if (jclass taken = boot_class(jni, name.c_str())) {
      jni->DeleteLocalRef(taken);
      continue;
    }
    const std::vector<jbyte> bytes = class_file(name);
    jclass type = jni->DefineClass(name.c_str(), nullptr, bytes.data(), static_cast<jsize>(bytes.size()));
    if (!no_exception(jni) || type == nullptr) return "the JVM refused the class of progress points";
    if (!initialise(jni, type)) return "this JDK's threads are built in another way";
    self.type = static_cast<jclass>(jni->NewGlobalRef(type));
    self.name = name;
    return self.type != nullptr ? nullptr : "no memory";
  }
  return "too many copies of the agent are in this JVM";
}

}  // namespace

const char* define_point_class(JNIEnv* jni) noexcept {
  if (point_class().type != nullptr) return nullptr;
  return reserve_cells() ? define(jni) : "no memory for counters";
}

const std::string& point_class_name() noexcept { return point_class().name; }

bool prepare_point_class(JNIEnv* jni, jclass type) noexcept {
  if (!binding) return false;
  char* signature = nullptr;
  if (agent().jvmti->GetClassSignature(type, &signature, nullptr) == JVMTI_ERROR_NONE) {
    if (std::string_view(signature).find("HeadwayPoint") != std::string_view::npos) bound = bind_natives(jni, type);
    agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  }
  return true;
}

void switch_settling(JNIEnv* jni, bool on) noexcept {
  const jclass type = point_class().type;
  if (type == nullptr) return;
  const jfieldID delay = jni->GetStaticFieldID(type, "delay", "J");
  const jfieldID accounts = no_exception(jni) ? jni->GetStaticFieldID(type, "accounts", "J") : nullptr;
  if (!no_exception(jni) || accounts == nullptr) return;
  if (on) jni->SetStaticLongField(type, delay, reinterpret_cast<jlong>(&epoch_delay_word()));
  jni->SetStaticLongField(type, accounts, on ? reinterpret_cast<jlong>(ledger().accounts()) : 0);
}

Visits count_of_cell(uint32_t cell) noexcept {
  const unsigned char* const cells = point_class().cells;
  uint64_t count = 0;
  uint64_t clock = 0;
  for (uint32_t stripe = 0; cells != nullptr && cell < kCells && stripe < kStripes; ++stripe) {
    const auto* at =
        reinterpret_cast<const uint64_t*>(cells + size_t{stripe} * kStripeBytes + size_t{cell} * kCellBytes);
    count += __atomic_load_n(at, __ATOMIC_RELAXED);
    clock += __atomic_load_n(at + 1, __ATOMIC_RELAXED);
  }
  return {count, static_cast<int64_t>(clock)};
}

}  // namespace headway::agent::causal
