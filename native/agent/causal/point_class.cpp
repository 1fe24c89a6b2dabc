#include "agent/causal/point_class.h"

#include <sys/mman.h>

#include <string_view>

#include "agent/agent.h"
#include "agent/boot_classes.h"
#include "agent/causal/ledger.h"
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
  return static_cast<jlong>(static_cast<uint64_t>(now_ns() - inserted_ns()) + kMark);
}
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

std::span<const JNINativeMethod> natives() {
  static const JNINativeMethod methods[] = {
      native_method("cells", "()J", reinterpret_cast<void*>(native_cells)),
      native_method("clock", "()J", reinterpret_cast<void*>(native_clock)),
      native_method("settle", "()V", reinterpret_cast<void*>(native_settle)),
      native_method("point", "(Ljava/lang/String;)I", reinterpret_cast<void*>(native_number<api_point>)),
      native_method("pair", "(Ljava/lang/String;)I", reinterpret_cast<void*>(native_number<api_pair>)),
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

const char* define_point_class(JNIEnv* jni) noexcept {
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
