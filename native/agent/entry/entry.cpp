// The entry points of headway's JVMTI agent, which records thread lives, JVM phases, locks and more into
// DIR/agent-<pid>.spool.
//
//   launched                -agentpath:/path/libheadway_agent.so=spool=DIR[,children=1][,vthreads=1][,locks=1]
//                               [,objects=BYTES[,object_sites=1]]
//                               [,accesses=1[,access_owners=1][,access_writers=1][,access_lines=1][,access_nodes=1]
//                                 [,access_windows=MS:PERIOD_MS][,access_scope=GLOBS]]
//                               [,sampler=LIBRARY,sample=ARGUMENTS][,causal=SPEC]
//   attached to a running   attach protocol, `load`: the same, without children=1
//     JVM
//   ends an attached        attach protocol, `load`: stop=1
//     recording
//
// Whatever goes wrong, the JVM goes on unharmed and nothing is printed: the recorder sees that there is no spool.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#if defined(__GNUC__)
#define HW_EXPORT extern "C" __attribute__((visibility("default")))
#endif

#include "agent/causal/blocking/causal_listener.h"
#include "agent/causal/experiments/experiments.h"
#include "agent/causal/points/point_loading.h"
#include "agent/core/clock.h"
#include "agent/core/old_glibc.h"
#include "agent/entry/events.h"
#include "agent/entry/recording_end.h"
#include "agent/entry/service.h"
#include "agent/hooks/listeners.h"
#include "agent/jvm/jvm_info.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/jvm/thread_ids.h"
#include "agent/jvm/thread_records.h"
#include "agent/objects/accesses.h"
#include "agent/objects/allocations.h"
#include "agent/sampler/sampler.h"
#include "agent/state/state.h"
#include "agent/waits/lock_listener.h"

namespace headway::agent {

namespace {

// What Agent_OnAttach returns; src/headway/record/agent/attach_protocol.py knows these numbers.
enum AttachCode : jint {
  kFine = 0,
  kNoSpool = 101,
  kNoJvmti = 102,
  kAlreadyRecording = 103,
  kNotRecording = 104,
  kNotYetLive = 105
};

std::optional<HotSpot::FlagOrigin> hidden_warning;

// Since JDK 21 a JVM prints a warning into the program's standard error when a library is loaded into it dynamically
// (JEP 451), unless -XX:+EnableDynamicAgentLoading is on its command line. The check comes after dlopen and before
// Agent_OnAttach: so this constructor makes the flag look so (as async-profiler does), and Agent_OnAttach puts it back.
__attribute__((constructor)) void hide_dynamic_loading_warning() {
  HotSpot hotspot;
  hotspot.load();
  if (hotspot.heap_exists()) hidden_warning = hotspot.pretend_on_command_line("EnableDynamicAgentLoading");
}

std::string library_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&agent), &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

// Callbacks point into this library: it must stay even if the JVM lets go of it after a failed attach.
void stay_loaded() {
  const std::string path = library_path();
  if (!path.empty()) dlopen(path.c_str(), RTLD_LAZY | RTLD_NODELETE | RTLD_NOLOAD);
}

// A JVM that is started by this one inherits the environment; the variable is read at a JVM's start only, so it changes
// nothing here. The child's JVM says "Picked up JAVA_TOOL_OPTIONS: ..." on its standard error: that can't be turned
// off.
void hand_on_to_children(const Options& options) {
  std::string path = library_path();
  if (path.find_first_of("\"'=") != std::string::npos) return;
  if (path.find_first_of(" \t\n") != std::string::npos) path = '"' + path + '"';
  std::string value = "-agentpath:" + path + "=spool=" + percent_encode(options.spool);
  value += spool_id_option(options);
  if (options.vthreads) value += ",vthreads=1";
  value += lock_options(options) + object_options(options) + sample_options(options) + causal_options(options);
  if (options.processors > 0) value += " -XX:ActiveProcessorCount=" + std::to_string(options.processors);
  const char* before = getenv("JAVA_TOOL_OPTIONS");
  if (before != nullptr && *before != '\0') value = std::string(before) + ' ' + value;
  setenv("JAVA_TOOL_OPTIONS", value.c_str(), 1);
}

// What every recording in this JVM shares.
AttachCode set_up(JavaVM* vm) {
  Agent& self = agent();
  if (self.jvmti != nullptr) return kFine;
  void* env = nullptr;
  const jint got = vm->GetEnv(&env, JVMTI_VERSION_1_2);
  if (got == JNI_EDETACHED) return kNotYetLive;
  if (got != JNI_OK) return kNoJvmti;
  auto* const jvmti = static_cast<jvmtiEnv*>(env);
  if (jvmti->CreateRawMonitor("headway ending", &self.ending) != JVMTI_ERROR_NONE) {
    jvmti->DisposeEnvironment();
    return kNoJvmti;
  }
  set_listeners({&lock_listener(), &causal::causal_listener(), {&causal::class_file_listener(), &access_listener()}});
  self.vm = vm;
  self.jvmti = jvmti;
  self.hotspot.load();
  self.jdk_major = jdk_major_version(jvmti);
  return kFine;
}

AttachCode begin_recording(JavaVM* vm, const Options& options, bool attached) {
  if (const AttachCode code = set_up(vm); code != kFine) return code;
  Agent& self = agent();
  const Locked alone(self.ending);  // the one before, whose events would be turned off behind ours
  if (ChunkFile* running = self.file.load(); running != nullptr) {
    if (running->recording()) return kAlreadyRecording;
    end_recording();
  }
  jvmtiPhase phase{};
  if (attached && (self.jvmti->GetPhase(&phase) != JVMTI_ERROR_NONE || phase != JVMTI_PHASE_LIVE)) return kNotYetLive;
  self.options = options;
  // There the JVM prints of each handler of a signal that is not its own any more (file_guard.h).
  self.options.no_map = options.no_map || self.hotspot.bool_flag("CheckJNICalls").value_or(false);
  self.attached = attached;
  self.load_ns = monotonic_ns();
  auto file = std::make_unique<ChunkFile>();
  if (options.opens_existing) file->open_existing();
  const std::string directory = self.directory.open(options.spool, options.spool_id);
  if (directory.empty() || !file->create(directory, getpid(), self.options.no_map)) return kNoSpool;
  const std::string path = file->path();
  self.file.store(file.release(), std::memory_order_release);
  stay_loaded();
  if (enable_events(attached)) return kFine;
  end_recording();
  unlink(path.c_str());
  return kNoJvmti;
}

// False where there is none any more; then also its file is let go of.
bool end_any_recording() {
  if (agent().ending == nullptr) return false;
  const Locked alone(agent().ending);
  if (agent().file.load() == nullptr) return false;
  end_recording();
  return true;
}

}  // namespace
}  // namespace headway::agent

HW_EXPORT JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* text, void*) {
  using namespace headway::agent;
  const Options options = parse_options(text == nullptr ? "" : text);
  if (options.children) hand_on_to_children(options);
  begin_recording(vm, options, false);
  return JNI_OK;
}

HW_EXPORT JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* text, void*) {
  using namespace headway::agent;
  if (hidden_warning) {
    HotSpot::restore_flag(*hidden_warning);
    agent().warning_hidden = true;
  }
  hidden_warning.reset();
  const Options options = parse_options(text == nullptr ? "" : text);
  if (options.stop) {
    end_sampling();
    causal::end_causal();
    if (!end_any_recording()) return kNotRecording;
    take_locks_out();
    return kFine;
  }
  const AttachCode code = begin_recording(vm, options, true);
  void* env = nullptr;
  if (code != kFine || vm->GetEnv(&env, JNI_VERSION_1_8) != JNI_OK) return code;
  auto* jni = static_cast<JNIEnv*>(env);
  find_thread_fields(jni);
  agent().hotspot.find_counters();
  write_jvm_info(jni);
  announce_existing_threads(jni);
  begin_locks(jni);
  begin_sampling(jni);
  causal::begin_causal(jni);
  begin_accesses(jni, end_silenced);
  begin_allocations(jni, end_silenced);
  return kFine;
}

HW_EXPORT JNIEXPORT void JNICALL Agent_OnUnload(JavaVM*) { headway::agent::vm_unloads(); }
