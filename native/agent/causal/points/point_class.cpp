#include "agent/causal/points/point_class.h"

#include <sys/mman.h>

#include <algorithm>
#include <string_view>

#include "agent/causal/blocking/blocking.h"
#include "agent/causal/blocking/reported_sleep.h"
#include "agent/causal/common/activity.h"
#include "agent/causal/ledger/epochs.h"
#include "agent/causal/ledger/ledger.h"
#include "agent/core/clock.h"
#include "agent/hotspot/hotspot.h"
#include "agent/jvm/boot_classes.h"
#include "agent/state/state.h"
#include "point_class_file.h"

namespace headway::agent::causal {
namespace {

// Never destroyed, like the agent.
struct PointClass {
  BootClass own{"java/lang/HeadwayPoint", kPointClassFile, {}};
  unsigned char* cells = nullptr;
};
PointClass& point_class() {
  static PointClass* const instance = new PointClass;
  return *instance;
}

// --- natives ---------------------------------------------------------------------------------------------------------

jlong JNICALL native_cells(JNIEnv*, jclass) { return reinterpret_cast<jlong>(point_class().cells); }
// A visit adds its time, then 1. Whoever reads a cell in between must see that: so a time is far more than any sum of
// differences can be, and count_of_cell() takes that off again for each visit.
constexpr uint64_t kMark = uint64_t{1} << 55;

jlong JNICALL native_clock(JNIEnv*, jclass) {
  return static_cast<jlong>(static_cast<uint64_t>(monotonic_ns() - inserted_ns()) + kMark);
}
void JNICALL native_settle(JNIEnv*, jclass) {
  if (is_on()) before_waking();
}

// What Thread.sleep calls in this JVM: the native method, and libjvm's function behind it.
struct SleepMethod {
  const char* name;
  const char* function;
  int64_t unit_ns;
};
using SleepFunction = void(JNICALL*)(JNIEnv*, jclass, jlong);
SleepFunction jvm_sleep = nullptr;
int64_t sleep_unit_ns = 1;

SleepMethod sleep_method() {
  constexpr int64_t kMillisecond = 1'000'000;
  if (libjvm_symbol("JVM_SleepNanos") != nullptr) return {"sleepNanos0", "JVM_SleepNanos", 1};
  if (agent().jdk_major >= 19) return {"sleep0", "JVM_Sleep", agent().jdk_major >= 21 ? 1 : kMillisecond};
  return {"sleep", "JVM_Sleep", kMillisecond};
}

void JNICALL native_sleep(JNIEnv* jni, jclass type, jlong time) {
  constexpr int64_t kLongestNs = INT64_MAX / 4;  // the end of it is a time, too
  const ReportedSleep reported(std::clamp<int64_t>(time, 0, kLongestNs / sleep_unit_ns) * sleep_unit_ns);
  jvm_sleep(jni, type, time);
}

// Thread's native method is bound to ours, for good: off, it only calls the JVM's. Called by the class's own code: from
// nowhere, the JVM would take it for a library that tampers with the JDK, and say so.
void JNICALL native_watch_sleeps(JNIEnv* jni, jclass) {
  const SleepMethod method = sleep_method();
  const auto found = reinterpret_cast<SleepFunction>(libjvm_symbol(method.function));
  jclass thread = boot_class(jni, "java/lang/Thread");
  if (found == nullptr || thread == nullptr || jvm_sleep != nullptr) return;
  jvm_sleep = found;
  sleep_unit_ns = method.unit_ns;
  const JNINativeMethod native = native_method(method.name, "(J)V", reinterpret_cast<void*>(native_sleep));
  if (jni->RegisterNatives(thread, &native, 1) != JNI_OK) jvm_sleep = nullptr;
  no_exception(jni);  // such a JVM's sleeps are only looked at
}

PointNumbers numbers_of{};

template <uint32_t (*PointNumbers::*Find)(std::string_view)>
jint JNICALL native_number(JNIEnv* jni, jclass, jstring name) {
  const char* text = name == nullptr ? nullptr : jni->GetStringUTFChars(name, nullptr);
  if (text == nullptr) {
    no_exception(jni);
    return 0;
  }
  const uint32_t cell = (numbers_of.*Find)(text);
  jni->ReleaseStringUTFChars(name, text);
  return static_cast<jint>(cell);
}

std::span<const JNINativeMethod> natives() {
  static const JNINativeMethod methods[] = {
      native_method("cells", "()J", reinterpret_cast<void*>(native_cells)),
      native_method("clock", "()J", reinterpret_cast<void*>(native_clock)),
      native_method("settle", "()V", reinterpret_cast<void*>(native_settle)),
      native_method("watchSleeps", "()V", reinterpret_cast<void*>(native_watch_sleeps)),
      native_method("point", "(Ljava/lang/String;)I", reinterpret_cast<void*>(native_number<&PointNumbers::point>)),
      native_method("pair", "(Ljava/lang/String;)I", reinterpret_cast<void*>(native_number<&PointNumbers::pair>)),
  };
  return methods;
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

}  // namespace

const char* define_point_class(JNIEnv* jni, PointNumbers numbers) noexcept {
  numbers_of = numbers;
  if (!reserve_cells()) return "no memory for counters";
  point_class().own.natives = natives();
  return define_boot_class(jni, point_class().own);
}

const std::string& point_class_name() noexcept { return point_class().own.name; }

void switch_settling(JNIEnv* jni, bool on) noexcept {
  const jclass type = point_class().own.type;
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
  return {count, static_cast<int64_t>(clock - count * kMark)};
}

}  // namespace headway::agent::causal
