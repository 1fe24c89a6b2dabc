// Turns locks on and off, and the agent's own Java thread, which looks after them meanwhile.
//
// The thread is a daemon called "headway" in the JVM's own thread group. It exists only while locks are recorded.
#include <array>
#include <atomic>

#include "agent/agent.h"
#include "agent/boot_classes.h"
#include "agent/hooks.h"
#include "agent/locks.h"
#include "agent/raw_monitor.h"

namespace headway::agent {
namespace {

constexpr jlong kTickMs = 250;  // how soon the recorder's wish to stop, or a collection, is noticed
constexpr int64_t kCareNs = 1'000'000'000;
constexpr jint kLocalRefs = 32;

struct Care {
  jrawMonitorID monitor = nullptr;      // one thread turns on or takes out at a time; the agent's thread sleeps in it
  std::atomic<bool> active{false};      // records are being written
  std::atomic<bool> dying{false};       // the JVM: no class is retransformed any more
  std::atomic<uint32_t> generation{0};  // counts recordings: a thread of an older one ends
};
Care& care() {
  static Care* const instance = new Care;
  return *instance;
}

JNIEnv* this_jni() {
  void* env = nullptr;
  if (agent().vm == nullptr || agent().vm->GetEnv(&env, JNI_VERSION_1_8) != JNI_OK) return nullptr;
  return static_cast<JNIEnv*>(env);
}

// --- the thread ------------------------------------------------------------------------------------------------------

// One look: at the hooks every time, since parks are missed while another agent has them out; at the blockers now and
// then.
void look_around(JNIEnv* jni, bool at_blockers) {
  if (jni->PushLocalFrame(kLocalRefs) != JNI_OK) {
    jni->ExceptionClear();
    return;
  }
  look_after_hooks(jni);
  if (at_blockers) look_after_blockers(jni);
  no_exception(jni);
  jni->PopLocalFrame(nullptr);
}

void JNICALL look_after_locks(jvmtiEnv* jvmti, JNIEnv* jni, void* generation) {
  const auto mine = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(generation));
  Care& self = care();
  const auto is_on = [&] { return self.active.load() && self.generation.load() == mine; };
  uint32_t collections = agent().collections.load(std::memory_order_relaxed);
  for (int64_t looked_ns = now_ns(); is_on();) {
    {
      const Locked locked(care().monitor);
      if (is_on()) jvmti->RawMonitorWait(self.monitor, kTickMs);
    }
    if (!is_on()) break;
    if (recording() == nullptr) {
      end_recording();  // the recorder has asked for silence by the word in the file
      break;
    }
    const uint32_t collected = agent().collections.load(std::memory_order_relaxed);
    const bool due = collected != collections || now_ns() - looked_ns >= kCareNs;
    if (due) {
      looked_ns = now_ns();
      collections = collected;
    }
    look_around(jni, due);
  }
  const Locked locked(care().monitor);
  if (self.generation.load() == mine && !self.dying.load()) remove_hooks(jni);
}

bool start_thread(JNIEnv* jni, uint32_t generation) {
  jthread thread = new_headway_thread(jni);
  if (thread == nullptr) return false;
  void* argument = reinterpret_cast<void*>(static_cast<uintptr_t>(generation));
  return agent().jvmti->RunAgentThread(thread, look_after_locks, argument, JVMTI_THREAD_NORM_PRIORITY) ==
         JVMTI_ERROR_NONE;
}

// --- on and off ------------------------------------------------------------------------------------------------------

// Who has an exclusive synchroniser: what the hook class asks when a wait begins.
class Owners {
 public:
  explicit Owners(JNIEnv* jni)
      : jni_(jni), type_(boot_class(jni, "java/util/concurrent/locks/AbstractOwnableSynchronizer")) {
    if (type_ != nullptr) field_ = jni->GetFieldID(type_, "exclusiveOwnerThread", "Ljava/lang/Thread;");
    if (!no_exception(jni)) field_ = nullptr;
  }
  // 0: nobody, or the object is no such thing.
  uint32_t of(jobject object) const {
    if (object == nullptr || field_ == nullptr || jni_->IsInstanceOf(object, type_) == JNI_FALSE) return 0;
    jobject owner = jni_->GetObjectField(object, field_);
    const uint64_t java_id = java_thread_id(jni_, owner);
    jni_->DeleteLocalRef(owner);
    return static_cast<uint32_t>(java_id);
  }

 private:
  JNIEnv* jni_;
  jclass type_;
  jfieldID field_ = nullptr;
};

// Threads that were parked before we came: each gets a wait in progress that began when it was seen.
void note_parked_threads(JNIEnv* jni) {
  jclass type = jni->FindClass("java/lang/Thread");
  jfieldID blocker_field = no_exception(jni) ? jni->GetFieldID(type, "parkBlocker", "Ljava/lang/Object;") : nullptr;
  jint count = 0;
  jthread* threads = nullptr;
  if (!no_exception(jni) || agent().jvmti->GetAllThreads(&count, &threads) != JVMTI_ERROR_NONE) return;
  const auto parked = [](jthread thread) {
    jint state = 0;
    agent().jvmti->GetThreadState(thread, &state);
    return (state & JVMTI_THREAD_STATE_PARKED) == 0 ? 0 : state;
  };
  const Owners owners(jni);
  for (jint i = 0; i < count; ++i) {
    if (const jint state = parked(threads[i])) {
      jobject blocker = jni->GetObjectField(threads[i], blocker_field);
      const uint32_t timed = (state & JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT) != 0 ? HW_BL_TIMED : 0;
      Waiting* const waiting = wait_begins(jni, HW_BK_PARK, {blocker, identity_hash(blocker), 0},
                                           static_cast<uint32_t>(java_thread_id(jni, threads[i])), owners.of(blocker),
                                           HW_BL_ATTACHED | timed);
      // It may have gone on meanwhile, unseen.
      if (waiting != nullptr && parked(threads[i]) == 0) wait_ends(jni, waiting, 0);
      jni->DeleteLocalRef(blocker);
    }
    jni->DeleteLocalRef(threads[i]);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
}

const char* turn_on(JNIEnv* jni) {
  Care& self = care();
  if (self.monitor == nullptr && agent().jvmti->CreateRawMonitor("headway care", &self.monitor) != JVMTI_ERROR_NONE) {
    return "the JVM gives no monitor";
  }
  const Locked locked(care().monitor);
  const uint32_t generation = self.generation.fetch_add(1) + 1;
  if (!start_stacks(jni)) return "no memory for stacks";
  if (!start_lock_records(jni)) {
    end_stacks();
    return "no room for the table of locks";
  }
  self.active = true;
  if (!install_hooks(jni)) {
    silence_locks();
    return hooks_problem();
  }
  if (!start_thread(jni, generation)) {
    silence_locks();
    remove_hooks(jni);
    return "the JVM gives the agent no thread of its own";
  }
  set_monitor_events(true);
  if (agent().attached) note_parked_threads(jni);
  return nullptr;
}

}  // namespace

// It has no context class loader nor inherited thread locals of the program's.
jthread new_headway_thread(JNIEnv* jni) noexcept {
  jint count = 0;
  jthreadGroup* groups = nullptr;
  if (agent().jvmti->GetTopThreadGroups(&count, &groups) != JVMTI_ERROR_NONE || count == 0) return nullptr;
  jthreadGroup system = groups[0];
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(groups));
  jclass type = jni->FindClass("java/lang/Thread");
  if (!no_exception(jni)) return nullptr;
  jmethodID make =
      jni->GetMethodID(type, "<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/Runnable;Ljava/lang/String;JZ)V");
  jmethodID set_loader = jni->GetMethodID(type, "setContextClassLoader", "(Ljava/lang/ClassLoader;)V");
  jstring name = no_exception(jni) ? jni->NewStringUTF("headway") : nullptr;
  if (name == nullptr) return nullptr;
  jthread thread = jni->NewObject(type, make, system, nullptr, name, jlong{0}, jboolean{JNI_FALSE});
  if (no_exception(jni) && thread != nullptr) jni->CallVoidMethod(thread, set_loader, nullptr);
  return no_exception(jni) ? thread : nullptr;
}

void begin_locks(JNIEnv* jni) noexcept {
  if (!agent().options.locks || jni->PushLocalFrame(kLocalRefs) != JNI_OK) return;
  const char* const problem = turn_on(jni);
  write_info(problem == nullptr ? "locks" : "locks_problem", problem == nullptr ? "on" : problem);
  jni->PopLocalFrame(nullptr);
}

void silence_locks() noexcept {
  if (!care().active.exchange(false)) return;
  if (JNIEnv* jni = this_jni()) switch_hooks(jni, false);
  set_monitor_events(false);
  end_lock_records();
  end_stacks();
}

void jvm_dies() noexcept {
  care().dying = true;
  silence_locks();
}

void take_locks_out() noexcept {
  JNIEnv* jni = this_jni();
  if (jni == nullptr || care().monitor == nullptr) return;
  const Locked locked(care().monitor);
  agent().jvmti->RawMonitorNotifyAll(care().monitor);
  remove_hooks(jni);
}

}  // namespace headway::agent
