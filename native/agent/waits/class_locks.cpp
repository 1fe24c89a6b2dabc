// Up to JDK 23 HotSpot locks an int[0] of each class while it links it, and in turns while it initialises it. Nobody
// tells of which class such an object is; what the thread that meets it is about to use says as much as can be said:
// that class, or one that it extends, which is linked and initialised first.
#include "agent/waits/class_locks.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "agent/classfile/class_use.h"
#include "agent/core/text.h"
#include "agent/locks/lock_records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr std::string_view kFor = " for ";
constexpr int kLastWithObjects = 23;  // JDKs after it lock no objects for classes

std::atomic<bool> is_on{false};

// What the JVM allocated for its caller.
class Bytes {
 public:
  Bytes() = default;
  ~Bytes() {
    if (at_ != nullptr) agent().jvmti->Deallocate(at_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  unsigned char** out() { return &at_; }
  jint* size() { return &size_; }
  std::span<const uint8_t> get() const { return {at_, static_cast<size_t>(std::max<jint>(size_, 0))}; }

 private:
  unsigned char* at_ = nullptr;
  jint size_ = 0;
};

// A thread whose Object.wait has timed out meets the object of the program again in there.
bool is_in_wait(jmethodID method) {
  char* name = nullptr;
  if (agent().jvmti->GetMethodName(method, &name, nullptr, nullptr) != JVMTI_ERROR_NONE) return false;
  const bool is = std::string_view(name).starts_with("wait");
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  return is;
}

// The class in use as JVM internal name into `out`; its length, 0: not known.
size_t class_in_use_of(JNIEnv* jni, const jvmtiFrameInfo& frame, std::span<const uint8_t> code, char* out,
                       size_t capacity) {
  jclass type = nullptr;
  if (agent().jvmti->GetMethodDeclaringClass(frame.method, &type) != JVMTI_ERROR_NONE) return 0;
  jint count = 0;
  Bytes pool;
  const jvmtiError error = agent().jvmti->GetConstantPool(type, &count, pool.size(), pool.out());
  jni->DeleteLocalRef(type);
  if (error != JVMTI_ERROR_NONE || count <= 0 || count > UINT16_MAX) return 0;
  // As the begin of a class file, which is what can be read here.
  const uint8_t head[] = {
      0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 0, static_cast<uint8_t>(count >> 8), static_cast<uint8_t>(count)};
  const size_t bytes = sizeof(head) + pool.get().size();
  const std::unique_ptr<uint8_t[]> file(new (std::nothrow) uint8_t[bytes]);
  if (file == nullptr) return 0;
  std::copy(pool.get().begin(), pool.get().end(), std::copy(std::begin(head), std::end(head), file.get()));
  ClassFile constants({file.get(), bytes});
  if (!constants.read_constants()) return 0;
  const size_t length = to_utf8(class_in_use(constants, code, static_cast<size_t>(frame.location)), out, capacity);
  std::replace(out, out + length, '/', '.');
  return length;
}

size_t write(std::string_view text, char* out, size_t capacity) {
  const size_t bytes = std::min(text.size(), capacity);
  std::copy_n(text.data(), bytes, out);
  return bytes;
}

}  // namespace

size_t class_lock_name(JNIEnv* jni, jobject int_array, char* out, size_t capacity) noexcept {
  jvmtiFrameInfo frame{};
  jint count = 0;
  if (!is_on.load(std::memory_order_relaxed)) return 0;
  if (jni->GetArrayLength(static_cast<jarray>(int_array)) != 0) return 0;
  if (agent().jvmti->GetStackTrace(nullptr, 0, 1, &frame, &count) != JVMTI_ERROR_NONE) return 0;
  if (count == 0) return write(kClassLock, out, capacity);  // a thread that the JVM is about to start
  if (frame.location < 0) return is_in_wait(frame.method) ? 0 : write(kClassLock, out, capacity);
  Bytes code;
  const bool is_known = agent().jvmti->GetBytecodes(frame.method, code.size(), code.out()) == JVMTI_ERROR_NONE &&
                        static_cast<size_t>(frame.location) < code.get().size();
  if (!is_known || may_enter_monitor(code.get(), static_cast<size_t>(frame.location))) return 0;
  const size_t unnamed = write(kClassLock, out, capacity);
  const size_t prefix = unnamed + write(kFor, out + unnamed, capacity - unnamed);
  const size_t name = class_in_use_of(jni, frame, code.get(), out + prefix, capacity - prefix);
  return name != 0 ? prefix + name : unnamed;
}

void start_class_locks() noexcept {
  jvmtiCapabilities wanted{};
  wanted.can_get_bytecodes = 1;  // neither costs anything until it is used
  wanted.can_get_constant_pool = 1;
  is_on.store(agent().jdk_major <= kLastWithObjects && agent().jvmti->AddCapabilities(&wanted) == JVMTI_ERROR_NONE,
              std::memory_order_relaxed);
}

}  // namespace headway::agent
