// The thread is a daemon called "headway" in the JVM's own thread group. It exists only while locks are recorded.
#include "agent/entry/service.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/core/clock.h"
#include "agent/entry/lock_switch.h"
#include "agent/entry/recording_end.h"
#include "agent/hooks/jdk_hooks.h"
#include "agent/hooks/monitors.h"
#include "agent/jvm/agent_thread.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/jvm/stacks.h"
#include "agent/jvm/this_jni.h"
#include "agent/state/records.h"
#include "agent/state/state.h"
#include "agent/waits/blockers.h"
#include "agent/waits/monitor_waits.h"
#include "agent/waits/parked_threads.h"
#include "agent/waits/standing_threads.h"

namespace headway::agent {
namespace {

constexpr jlong kTickMs = 250;  // how soon the recorder's wish to stop, or a collection, is noticed
constexpr int64_t kPollNs = 1'000'000'000;
constexpr jint kLocalRefs = 32;

// --- the thread ------------------------------------------------------------------------------------------------------

// One look: at the hooks every time, since parks are missed while another agent has them out; at the blockers now and
// then.
void poll_all(JNIEnv* jni, ParkedThreads& parked, StandingThreads& standing, bool at_blockers) {
  if (jni->PushLocalFrame(kLocalRefs) != JNI_OK) {
    jni->ExceptionClear();
    return;
  }
  poll_hooks(jni);
  if (at_blockers) {
    report_all_holds(jni);
    poll_blockers(jni);
    parked.look(jni);
    standing.look(jni);
  }
  no_exception(jni);
  jni->PopLocalFrame(nullptr);
}

// What one run of the service thread works on.
struct ServiceTask {
  explicit ServiceTask(uint32_t number) : generation(number), parked(lock_recording()) {}
  uint32_t generation;
  ParkedThreads parked;
  StandingThreads standing;
};

void JNICALL run_service(jvmtiEnv* jvmti, JNIEnv* jni, void* argument) {
  const std::unique_ptr<ServiceTask> task(static_cast<ServiceTask*>(argument));
  const uint32_t mine = task->generation;
  LockSwitch& self = lock_switch();
  const auto is_on = [&] { return self.active.load() && self.generation.load() == mine; };
  if (agent().attached) {
    task->parked.note_virtual_threads(jni);
    task->standing.look(jni);
  }
  uint32_t collections = agent().collections.load(std::memory_order_relaxed);
  for (int64_t looked_ns = monotonic_ns(); is_on();) {
    {
      const Locked locked(lock_switch().monitor);
      if (is_on()) jvmti->RawMonitorWait(self.monitor, kTickMs);
    }
    if (!is_on()) break;
    if (recording() == nullptr) {
      end_silenced();  // the recorder has asked for silence by the word in the file
      break;
    }
    const uint32_t collected = agent().collections.load(std::memory_order_relaxed);
    const bool due = collected != collections || monotonic_ns() - looked_ns >= kPollNs;
    if (due) {
      looked_ns = monotonic_ns();
      collections = collected;
    }
    poll_all(jni, task->parked, task->standing, due);
  }
  if (!self.dying.load()) task->parked.let_go(jni);
  const Locked locked(lock_switch().monitor);
  if (self.generation.load() == mine && !self.dying.load()) remove_hooks(jni);
}

bool start_thread(JNIEnv* jni, std::unique_ptr<ServiceTask>& task) {
  jthread thread = new_headway_thread(jni);
  if (thread == nullptr) return false;
  const jvmtiError error = agent().jvmti->RunAgentThread(thread, run_service, task.get(), JVMTI_THREAD_NORM_PRIORITY);
  if (error != JVMTI_ERROR_NONE) return false;
  (void)task.release();  // the thread's now
  return true;
}

// --- on and off ------------------------------------------------------------------------------------------------------

const char* turn_on(JNIEnv* jni) {
  LockSwitch& self = lock_switch();
  if (self.monitor == nullptr &&
      agent().jvmti->CreateRawMonitor("headway service", &self.monitor) != JVMTI_ERROR_NONE) {
    return "the JVM gives no monitor";
  }
  const Locked locked(lock_switch().monitor);
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
  auto task = std::make_unique<ServiceTask>(generation);
  if (agent().attached) task->parked.note_platform_threads(jni);
  if (!start_thread(jni, task)) {
    task->parked.let_go(jni);
    silence_locks();
    remove_hooks(jni);
    return "the JVM gives the agent no thread of its own";
  }
  forget_monitor_waits(jni);
  set_monitor_events(true);
  if (ChunkFile* file = recording()) file->will_tell_its_end();
  return nullptr;
}

// Where locks are not recorded: the stacks of threads that stand still at an attach, once. What they wait for tells
// their roles; later on there is no thread of the agent's that would look.
void look_once(JNIEnv* jni) {
  if (!start_stacks(jni)) return;
  StandingThreads().look(jni);
  no_exception(jni);
  write_info("waiting_stacks", "once");
  end_stacks();
}

}  // namespace

void begin_locks(JNIEnv* jni) noexcept {
  const bool is_wanted = agent().options.locks || agent().attached;
  if (!is_wanted || jni->PushLocalFrame(kLocalRefs) != JNI_OK) return;
  if (!agent().options.locks) {
    look_once(jni);
    jni->PopLocalFrame(nullptr);
    return;
  }
  const char* const problem = turn_on(jni);
  write_info(problem == nullptr ? "locks" : "locks_problem", problem == nullptr ? "on" : problem);
  jni->PopLocalFrame(nullptr);
}

void jvm_dies() noexcept {
  lock_switch().dying = true;
  silence_locks();
  for (int naps = 0; naps < 100 && is_ending(); ++naps) usleep(1000);  // another thread writes what goes on
}

void take_locks_out() noexcept {
  JNIEnv* jni = this_jni();
  if (jni == nullptr || lock_switch().monitor == nullptr) return;
  const Locked locked(lock_switch().monitor);
  agent().jvmti->RawMonitorNotifyAll(lock_switch().monitor);
  remove_hooks(jni);
}

}  // namespace headway::agent
