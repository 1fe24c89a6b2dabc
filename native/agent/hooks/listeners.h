// The functions that the hooks call: tables that the recording of locks, the causal profiler and its progress points
// register once, before anything is installed. The hooks know none of the three.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <array>
#include <cstdint>

#include "wire/records.h"

namespace headway::agent {

// The recording of locks. The first four are natives of the hook class (java.base/jdk/internal/misc/HeadwayHook0.java).
struct LockListener {
  jlong(JNICALL* begin)(JNIEnv*, jclass, jobject blocker, jint hash, jint class_hash, jint thread, jint owner,
                        jint flags);
  void(JNICALL* end)(JNIEnv*, jclass, jlong waiting, jint flags, jlong due_ns);
  void(JNICALL* wakes)(JNIEnv*, jclass, jint target, jint thread);
  void(JNICALL* held)(JNIEnv*, jclass, jobject synchroniser, jint hash, jint thread, jlong start_ns, jlong end_ns);
  void (*untimed)(uint32_t holds) noexcept;  // so many more holds began that will not be timed
  // A contended monitor, or Object.wait, on the thread itself. Only while set_monitor_events(true, kLocks).
  void (*monitor_begins)(JNIEnv*, jthread, hw_blocker_kind, jobject, bool is_timed) noexcept;
  void (*monitor_ends)(JNIEnv*, jthread, hw_blocker_kind, jobject) noexcept;
};

// The causal profiler; likewise.
struct CausalListener {
  jboolean(JNICALL* park_begins)(JNIEnv*, jclass, jint alias, jboolean is_timed);
  void(JNICALL* park_ends)(JNIEnv*, jclass, jint alias, jboolean is_timed);
  void(JNICALL* unparks)(JNIEnv*, jclass, jint target);
  void(JNICALL* releases)(JNIEnv*, jclass);
  void (*monitor_begins)(JNIEnv*, jthread, bool is_timed) noexcept;
  void (*monitor_ends)(JNIEnv*, jthread, bool timed_out) noexcept;
};

// Who changes classes other than those of the hooks, as they are loaded.
struct ClassFileListener {
  bool (*wants)() noexcept;  // JVMTI's ClassFileLoadHook stays on for it
  bool (*changes)(jobject loader, const char* name, jclass redefined, jint length, const unsigned char* bytes,
                  jint* new_length, unsigned char** new_bytes) noexcept;
};

struct Listeners {
  const LockListener* locks = nullptr;
  const CausalListener* causal = nullptr;
  std::array<const ClassFileListener*, 2> class_files{};  // the first that changes a class is the last to be asked
};

// Of objects that stay for as long as the process; once.
void set_listeners(const Listeners& all) noexcept;
bool wants_class_files() noexcept;  // any of them
const Listeners& listeners() noexcept;

}  // namespace headway::agent
