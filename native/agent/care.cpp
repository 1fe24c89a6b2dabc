// Turns locks on and off, and the agent's own Java thread, which looks after them meanwhile.
//
// The thread is a daemon called "headway" in the JVM's own thread group. It exists only while locks are recorded.
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>

#include "agent/agent.h"
#include "agent/boot_classes.h"
#include "agent/hooks.h"
#include "agent/locks.h"
#include "agent/parked.h"
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
void look_around(JNIEnv* jni, ParkedThreads& parked, bool at_blockers) {
  if (jni->PushLocalFrame(kLocalRefs) != JNI_OK) {
    jni->ExceptionClear();
    return;
  }
  look_after_hooks(jni);
  if (at_blockers) {
    tell_all_holds(jni);
    look_after_blockers(jni);
    parked.look(jni);
  }
  no_exception(jni);
  jni->PopLocalFrame(nullptr);
}

// What the agent's thread is for.
struct Duty {
  explicit Duty(uint32_t number) : generation(number), parked(lock_recording()) {}
  uint32_t generation;
  ParkedThreads parked;
};

void JNICALL look_after_locks(jvmtiEnv* jvmti, JNIEnv* jni, void* argument) {
  const std::unique_ptr<Duty> duty(static_cast<Duty*>(argument));
  const uint32_t mine = duty->generation;
  Care& self = care();
  const auto is_on = [&] { return self.active.load() && self.generation.load() == mine; };
  if (agent().attached) duty->parked.note_virtual_threads(jni);
  uint32_t collections = agent().collections.load(std::memory_order_relaxed);
  for (int64_t looked_ns = now_ns(); is_on();) {
    {
      const Locked locked(care().monitor);
      if (is_on()) jvmti->RawMonitorWait(self.monitor, kTickMs);
    }
    if (!is_on()) break;
    if (recording() == nullptr) {
      end_silenced();  // the recorder has asked for silence by the word in the file
      break;
    }
    const uint32_t collected = agent().collections.load(std::memory_order_relaxed);
    const bool due = collected != collections || now_ns() - looked_ns >= kCareNs;
    if (due) {
      looked_ns = now_ns();
      collections = collected;
    }
    look_around(jni, duty->parked, due);
  }
  if (!self.dying.load()) duty->parked.let_go(jni);
  const Locked locked(care().monitor);
  if (self.generation.load() == mine && !self.dying.load()) remove_hooks(jni);
}

bool start_thread(JNIEnv* jni, std::unique_ptr<Duty>& duty) {
  jthread thread = new_headway_thread(jni);
  if (thread == nullptr) return false;
  const jvmtiError error =
      agent().jvmti->RunAgentThread(thread, look_after_locks, duty.get(), JVMTI_THREAD_NORM_PRIORITY);
  if (error != JVMTI_ERROR_NONE) return false;
  (void)duty.release();  // the thread's now
  return true;
}

// --- on and off ------------------------------------------------------------------------------------------------------

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
  forget_holds(jni);
  if (!install_hooks(jni)) {
    silence_locks();
    return hooks_problem();
  }
  auto duty = std::make_unique<Duty>(generation);
  if (agent().attached) duty->parked.note_platform_threads(jni);
  if (!start_thread(jni, duty)) {
    duty->parked.let_go(jni);
    silence_locks();
    remove_hooks(jni);
    return "the JVM gives the agent no thread of its own";
  }
  set_monitor_events(true);
  if (ChunkFile* file = recording()) file->will_tell_its_end();
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
  if (JNIEnv* jni = this_jni()) {
    switch_hooks(jni, false);
    tell_all_holds(jni);
    if (!care().dying.load()) forget_holds(jni);
  }
  set_monitor_events(false);
  end_lock_records();
  end_stacks();
}

void jvm_dies() noexcept {
  care().dying = true;
  silence_locks();
  for (int naps = 0; naps < 100 && is_ending(); ++naps) usleep(1000);  // another thread writes what goes on
}

void take_locks_out() noexcept {
  JNIEnv* jni = this_jni();
  if (jni == nullptr || care().monitor == nullptr) return;
  const Locked locked(care().monitor);
  agent().jvmti->RawMonitorNotifyAll(care().monitor);
  remove_hooks(jni);
}

}  // namespace headway::agent
