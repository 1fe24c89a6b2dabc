#include "agent/waits/standing_threads.h"

#include "agent/jvm/stacks.h"
#include "agent/jvm/thread_ids.h"
#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

// A stack takes some ten microseconds. The first look finds what a program always has; later ones would find mostly
// threads that come and go.
constexpr size_t kMostAtFirst = 2000;
constexpr size_t kMostPerLook = 16;
constexpr size_t kMostSeen = 20'000;
constexpr jint kLocalRefs = 64;
constexpr int kStateBits = 3;

// hw_standing_in of a thread; 0: it runs Java code, waits for a monitor, or has ended.
uint32_t standing_in(jthread thread) {
  jint state = 0;
  if (agent().jvmti->GetThreadState(thread, &state) != JVMTI_ERROR_NONE) return 0;
  if ((state & JVMTI_THREAD_STATE_SLEEPING) != 0) return HW_ST_SLEEP;
  if ((state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT) != 0) return HW_ST_WAIT;
  if ((state & JVMTI_THREAD_STATE_PARKED) != 0) return HW_ST_PARK;
  if ((state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) != 0) return 0;
  return (state & JVMTI_THREAD_STATE_IN_NATIVE) != 0 ? HW_ST_NATIVE : 0;
}

}  // namespace

void StandingThreads::look(JNIEnv* jni) {
  jint count = 0;
  jthread* threads = nullptr;
  if (seen_.size() >= kMostSeen || agent().jvmti->GetAllThreads(&count, &threads) != JVMTI_ERROR_NONE) return;
  if (jni->EnsureLocalCapacity(count + kLocalRefs) != JNI_OK) jni->ExceptionClear();
  size_t left = has_looked_ ? kMostPerLook : kMostAtFirst;
  has_looked_ = true;
  for (jint i = 0; i < count; ++i) {
    const uint32_t state = left > 0 ? standing_in(threads[i]) : 0;
    const auto java_id = static_cast<uint32_t>(state != 0 ? java_thread_id(jni, threads[i]) : 0);
    if (java_id != 0 && seen_.insert(uint64_t{java_id} << kStateBits | state).second) {
      --left;
      const uint32_t stack_id = take_stack_of(jni, threads[i]);
      if (stack_id != 0) write_waiting_stack(stack_id, java_id, static_cast<hw_standing_in>(state));
    }
    jni->DeleteLocalRef(threads[i]);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
}

}  // namespace headway::agent
