#include "agent/jvm/thread_records.h"

#include <string_view>
#include <utility>

#include "agent/jvm/thread_ids.h"
#include "agent/state/records.h"
#include "agent/state/state.h"
#include "agent/state/thread_slot.h"

namespace headway::agent {
namespace {

// A string of JVMTI's, given back when it goes out of scope.
class JvmtiText {
 public:
  explicit JvmtiText(char* text) : text_(text) {}
  ~JvmtiText() {
    if (text_ != nullptr) agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(text_));
  }
  JvmtiText(const JvmtiText&) = delete;
  JvmtiText& operator=(const JvmtiText&) = delete;
  std::string_view view() const { return text_ == nullptr ? std::string_view() : std::string_view(text_); }

 private:
  char* text_;
};

// Carriers of virtual threads (JDK 21 and later) are jdk.internal.misc.CarrierThread in a group of their own. The group
// is at hand and nearly always decides; the class makes sure.
bool is_carrier(JNIEnv* jni, jthread thread, std::string_view group) {
  if (agent().jdk_major < 21 || group != "CarrierThreads") return false;
  jclass type = jni->GetObjectClass(thread);
  char* signature = nullptr;
  agent().jvmti->GetClassSignature(type, &signature, nullptr);
  const JvmtiText text(signature);
  jni->DeleteLocalRef(type);
  return text.view() == "Ljdk/internal/misc/CarrierThread;";
}

// FNV-1a: to notice at a thread's end that it was renamed, without keeping the name.
uint64_t hash(std::string_view text) {
  uint64_t value = 14695981039346656037ULL;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return value;
}

thread_local uint64_t announced_name = 0;  // hash of the calling thread's name when it began; 0: not seen to begin

void announce(JNIEnv* jni, jthread thread, uint32_t tid, uint32_t flags, uint16_t type = HW_THREAD_START) {
  jvmtiThreadInfo info{};
  if (agent().jvmti->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return;
  const JvmtiText name(info.name);
  jvmtiThreadGroupInfo group_info{};
  if (info.thread_group != nullptr) agent().jvmti->GetThreadGroupInfo(info.thread_group, &group_info);
  const JvmtiText group(group_info.name);
  if (info.is_daemon) flags |= HW_TH_DAEMON;
  if (is_carrier(jni, thread, group.view())) flags |= HW_TH_CARRIER;
  if (tid == this_thread().tid) {
    const uint64_t before = std::exchange(announced_name, hash(name.view()));
    if (type == HW_THREAD_NAME && before == announced_name) return;
  }
  write_thread_start({tid, java_thread_id(jni, thread), flags, name.view(), group.view()}, type);
  // Local references are freed by the JVM when an event's callback returns; in the loop over all threads they pile up.
  jni->DeleteLocalRef(info.thread_group);
  jni->DeleteLocalRef(info.context_class_loader);
  jni->DeleteLocalRef(group_info.parent);
}

}  // namespace

void announce_thread(JNIEnv* jni, jthread thread) noexcept { announce(jni, thread, this_thread().tid, 0); }

void announce_last_name(JNIEnv* jni, jthread thread) noexcept {
  if (announced_name != 0) announce(jni, thread, this_thread().tid, 0, HW_THREAD_NAME);
}

void announce_existing_threads(JNIEnv* jni, uint16_t type) noexcept {
  if (agent().thread_eetop == nullptr) return;
  jint count = 0;
  jthread* threads = nullptr;
  if (agent().jvmti->GetAllThreads(&count, &threads) != JVMTI_ERROR_NONE) return;
  constexpr jint kOthers = 32;
  if (jni->EnsureLocalCapacity(count + kOthers) != JNI_OK) jni->ExceptionClear();
  const uint32_t flags = agent().attached && type == HW_THREAD_START ? HW_TH_ATTACHED : 0;
  for (jint i = 0; i < count; ++i) {
    if (const uint32_t tid = os_thread_of(jni, threads[i])) announce(jni, threads[i], tid, flags, type);
    jni->DeleteLocalRef(threads[i]);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
}

}  // namespace headway::agent
