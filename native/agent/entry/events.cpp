// Callbacks run on the JVM's own threads, hold none of its locks, and print nothing.
#include "agent/entry/events.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/causal/blocking/thread_accounts.h"
#include "agent/causal/common/activity.h"
#include "agent/causal/experiments/experiments.h"
#include "agent/causal/points/points.h"
#include "agent/causal/sampling/sampling.h"
#include "agent/causal/target/target.h"
#include "agent/core/clock.h"
#include "agent/entry/event_modes.h"
#include "agent/entry/recording_end.h"
#include "agent/entry/service.h"
#include "agent/hooks/jdk_hooks.h"
#include "agent/hooks/monitors.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/jvm_info.h"
#include "agent/jvm/thread_ids.h"
#include "agent/jvm/thread_records.h"
#include "agent/objects/accesses.h"
#include "agent/objects/allocations.h"
#include "agent/sampler/sampler.h"
#include "agent/state/records.h"
#include "agent/state/state.h"
#include "agent/state/thread_slot.h"
#include "agent/waits/blockers.h"

namespace headway::agent {
namespace {

constexpr int kFirstEvent = 50;                // JVMTI_MIN_EVENT_TYPE_VAL, the first entry of jvmtiEventCallbacks
constexpr int kEvents = 39;                    // up to kVirtualThreadEnd
constexpr int kCanSupportVirtualThreads = 44;  // bit of jvmtiCapabilities

// Start-up ends when the application's main class is prepared: the launcher prepares its helper, then the main class.
enum class Startup { kBeforeLauncher, kInLauncher, kDone };
std::atomic<Startup> startup{Startup::kDone};
std::atomic<int64_t> gc_start_ns{0};
std::atomic<int64_t> death_ns{0};

void JNICALL on_vm_init(jvmtiEnv*, JNIEnv* jni, jthread) {
  if (!is_still_wanted()) return;
  find_thread_fields(jni);
  agent().hotspot.find_counters();
  write_jvm_info(jni);
  startup = Startup::kBeforeLauncher;
  set_event(JVMTI_EVENT_CLASS_PREPARE, true);
  set_recording_events(true, is_still_wanted);
  // Threads that began before this event; one that begins just now may be announced twice, alike.
  announce_existing_threads(jni);
  begin_locks(jni);
  begin_sampling(jni);
  causal::begin_causal(jni);
  begin_accesses(jni, end_silenced);
  begin_allocations(jni, end_silenced);  // last: what the others allocate is not the program's
}

void startup_ends(std::string_view main_class) {
  if (agent().options.causal.empty()) set_event(JVMTI_EVENT_CLASS_PREPARE, false);
  if (startup.exchange(Startup::kDone) != Startup::kDone) write_phase(HW_PH_STARTUP, agent().load_ns, main_class);
}

// "Lcom/example/Main;" as "com.example.Main".
std::string class_name(const char* signature) {
  std::string name(signature);
  if (name.size() >= 2 && name.front() == 'L' && name.back() == ';') name = name.substr(1, name.size() - 2);
  for (char& c : name) c = c == '/' ? '.' : c;
  return name;
}

void JNICALL on_class_prepare(jvmtiEnv* jvmti, JNIEnv* jni, jthread, jclass type) {
  if (prepare_boot_class(jni, type)) return;
  const Startup state = startup.load(std::memory_order_relaxed);
  if (state == Startup::kDone && !causal::is_on()) return;
  jobject loader = nullptr;
  if (jvmti->GetClassLoader(type, &loader) != JVMTI_ERROR_NONE) return;
  // Of the JDK's own classes only the launcher's helper matters.
  if (loader == nullptr && state != Startup::kBeforeLauncher && !causal::is_on()) return;
  char* signature = nullptr;
  if (jvmti->GetClassSignature(type, &signature, nullptr) != JVMTI_ERROR_NONE) return;
  const std::string name = class_name(signature);
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  if (causal::is_on()) {
    causal::note_class(jni, type, name);
    causal::instrument_class(jni, type, name);
    causal::find_target();
  }
  if (state == Startup::kDone || (loader == nullptr && state != Startup::kBeforeLauncher)) return;
  if (loader == nullptr) {
    if (name == "sun.launcher.LauncherHelper") startup = Startup::kInLauncher;
    return;
  }
  // Java agents' classes come before the launcher's helper. Where a program embeds the JVM there is no helper, and
  // where the command names a jar there is no class name: the first application class it is.
  const std::string& wanted_class = agent().main_class;
  if (wanted_class.empty() ? state == Startup::kInLauncher : name == wanted_class) startup_ends(name);
}

void JNICALL on_thread_start(jvmtiEnv*, JNIEnv* jni, jthread thread) {
  if (!is_still_wanted()) return;
  announce_thread(jni, thread);
  if (causal::is_on()) causal::thread_begins(jni, thread);
}

void JNICALL on_thread_end(jvmtiEnv*, JNIEnv* jni, jthread thread) {
  // Also when the recorder has just died: until the profiler ends, signals go to threads that have accounts.
  if (causal::is_on()) causal::thread_ends(jni, thread);
  if (!is_still_wanted()) return;
  announce_last_name(jni, thread);
  const uint64_t java_id = java_thread_id(jni, thread);
  end_accesses_of_thread(java_id);
  write_thread_end(java_id, static_cast<uint64_t>(thread_cpu_ns()));
  if (agent().options.locks) waiter_dies(static_cast<uint32_t>(java_id));
  if (ChunkFile* file = recording()) file->retire(this_thread());
}

void JNICALL on_virtual_thread_start(jvmtiEnv*, JNIEnv* jni, jthread thread) {
  jvmtiThreadInfo info{};
  if (recording() == nullptr || agent().jvmti->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return;
  const std::string_view name = info.name == nullptr ? std::string_view() : std::string_view(info.name);
  write_thread_start({0, java_thread_id(jni, thread), HW_TH_VIRTUAL | HW_TH_DAEMON, name, {}}, HW_VTHREAD_START);
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.name));
}

void JNICALL on_virtual_thread_end(jvmtiEnv*, JNIEnv* jni, jthread thread) {
  write_thread_end(java_thread_id(jni, thread), 0, HW_VTHREAD_END);  // a virtual thread has no CPU clock
}

// GC events come on the VM thread, inside the pause: no JNI, almost no JVMTI.
void JNICALL on_gc_start(jvmtiEnv*) {
  agent().is_collecting.store(true);
  gc_start_ns.store(monotonic_ns(), std::memory_order_relaxed);
}

void JNICALL on_gc_finish(jvmtiEnv*) {
  const int64_t start = gc_start_ns.exchange(0, std::memory_order_relaxed);
  agent().collections.fetch_add(1, std::memory_order_relaxed);
  // Behind it: who sees this one sees that, too.
  agent().is_collecting.store(false, std::memory_order_release);
  if (start == 0) return;  // the pause in which we were attached
  char cause[128];
  // The JVM takes its counters down when it dies.
  const size_t length =
      death_ns.load(std::memory_order_relaxed) == 0 ? agent().hotspot.gc_cause(cause, sizeof(cause)) : 0;
  write_phase(HW_PH_GC_PAUSE, start, {cause, length});
  causal::collection_ended(monotonic_ns() - start);
}

void JNICALL on_vm_death(jvmtiEnv*, JNIEnv* jni) {
  death_ns.store(monotonic_ns(), std::memory_order_relaxed);
  silence_accesses(true);
  silence_allocations(true);
  end_sampling();
  causal::end_causal(true);
  jvm_dies();
  // Threads that live on until the process ends have no end event to tell their last name.
  if (recording() != nullptr) announce_existing_threads(jni, HW_THREAD_NAME);
}

}  // namespace

bool enable_events(bool live) noexcept {
  std::array<void*, kEvents> callbacks{};
  const auto set = [&](int event, auto* function) {
    callbacks[static_cast<size_t>(event - kFirstEvent)] = reinterpret_cast<void*>(function);
  };
  set(JVMTI_EVENT_VM_INIT, on_vm_init);
  set(JVMTI_EVENT_VM_DEATH, on_vm_death);
  set(JVMTI_EVENT_THREAD_START, on_thread_start);
  set(JVMTI_EVENT_THREAD_END, on_thread_end);
  set(JVMTI_EVENT_CLASS_PREPARE, on_class_prepare);
  set(JVMTI_EVENT_GARBAGE_COLLECTION_START, on_gc_start);
  set(JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, on_gc_finish);
  set(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, on_class_file_load);
  set(JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, object_allocated);
  set(kVirtualThreadStart, on_virtual_thread_start);
  set(kVirtualThreadEnd, on_virtual_thread_end);
  static_assert(sizeof(callbacks) >= sizeof(jvmtiEventCallbacks));
  add_monitor_callbacks(*reinterpret_cast<jvmtiEventCallbacks*>(callbacks.data()));

  jvmtiEnv* jvmti = agent().jvmti;
  jvmtiCapabilities wanted_capabilities{};
  wanted_capabilities.can_generate_garbage_collection_events = 1;
  if (jvmti->AddCapabilities(&wanted_capabilities) != JVMTI_ERROR_NONE) return false;
  if (!live) prepare_allocations();
  if (!live && !agent().options.causal.empty()) {
    // Kotlin's source maps are kept with a class only for who asks before the JVM lives.
    jvmtiCapabilities source_maps{};
    source_maps.can_get_source_debug_extension = 1;
    jvmti->AddCapabilities(&source_maps);
    causal::compile_with_all_lines();  // before the first method is compiled
  }
  agent().options.vthreads = agent().options.vthreads && agent().jdk_major >= 21;
  if (agent().options.vthreads) {
    jvmtiCapabilities virtual_threads{};
    auto* bits = reinterpret_cast<unsigned char*>(&virtual_threads);
    bits[kCanSupportVirtualThreads / 8] = 1 << (kCanSupportVirtualThreads % 8);
    agent().options.vthreads = jvmti->AddCapabilities(&virtual_threads) == JVMTI_ERROR_NONE;
  }
  // A JVM that knows fewer events takes the callbacks it knows and leaves the rest.
  const auto* table = reinterpret_cast<const jvmtiEventCallbacks*>(callbacks.data());
  if (jvmti->SetEventCallbacks(table, sizeof(callbacks)) != JVMTI_ERROR_NONE) return false;
  if (live) {
    set_recording_events(true, is_still_wanted);
    if (!agent().options.causal.empty()) set_event(JVMTI_EVENT_CLASS_PREPARE, true);
  } else {
    set_event(JVMTI_EVENT_VM_INIT, true);
  }
  return true;
}

void vm_unloads() noexcept {
  const int64_t death = death_ns.load(std::memory_order_relaxed);
  if (death != 0) write_phase(HW_PH_SHUTDOWN, death, {});
}

}  // namespace headway::agent
