// async-profiler is driven by its C interface (asprof.h) instead of being a second -agentpath: then a JVM starts also
// where it can't be loaded, its errors come back as texts instead of going to the program's output, and child JVMs and
// attached ones need nothing of their own.
//
// It is started on a thread of headway's, in the JVM's own thread group and called "headway": the threads that it
// creates inherit that group or that name, and so are known for what they are.
#include "agent/sampler/sampler.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>  // rename
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>

#include "agent/core/clock.h"
#include "agent/core/old_glibc.h"
#include "agent/jvm/agent_thread.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr jlong kTickMs = 250;  // how soon the recorder's wish to stop is noticed
constexpr jlong kPatienceMs = 10'000;
constexpr std::string_view kOurLibrary = "libheadway_async_profiler.so";
// Forks of async-profiler keep its signals and its hooks in the JVM, and most of its name.
constexpr std::string_view kOthers[] = {"asyncProfiler", "async-profiler", "javaProfiler"};
// One chunk in 10 s bounds what a killed JVM loses. No system properties (they may hold secrets), no CPU load.
constexpr std::string_view kStart = "start,quiet,jfropts=31,clock=monotonic,loglevel=none,chunktime=10,file=";

using Execute = const char* (*)(const char* command, void (*sink)(const char*, size_t));

using Attach = jint (*)(JavaVM* vm, char* options, void* reserved);

enum class State { kOff, kStarting, kOn };

struct Sampler {
  jrawMonitorID monitor = nullptr;  // guards everything here but the atomics
  Execute execute = nullptr;
  Attach attach = nullptr;
  State state = State::kOff;
  int notes = -1;    // sample-NAME.txt
  std::string path;  // of sample-NAME, without its ending
  std::atomic<bool> wanted{false};
  std::atomic<uint32_t> generation{0};  // counts recordings: a thread of an older one ends
};
Sampler& sampler() {
  static Sampler* const instance = new Sampler;
  return *instance;
}

// --- what is said about it -------------------------------------------------------------------------------------------

void note(std::string_view key, std::string_view value) {
  std::string line(key);
  line += ' ';
  for (const char c : value) line += c == '\n' ? ' ' : c;
  line += '\n';
  [[maybe_unused]] const ssize_t written = write(sampler().notes, line.data(), line.size());
}

bool open_notes() {
  const ChunkFile* file = recording();
  if (file == nullptr) return false;
  const std::string& spool = file->path();  // DIR/agent-NAME.spool
  const size_t slash = spool.rfind('/') + 1;
  constexpr std::string_view kPrefix = "agent-";
  constexpr std::string_view kEnding = ".spool";
  sampler().path = spool.substr(0, slash) + "sample-" +
                   spool.substr(slash + kPrefix.size(), spool.size() - slash - kPrefix.size() - kEnding.size());
  const std::string name = sampler().path + ".txt";
  sampler().notes = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (sampler().notes < 0) return false;
  flock(sampler().notes, LOCK_EX | LOCK_NB);
  return true;
}

// The recorder died, and somebody made tables of what there was: nobody will read more.
bool is_given_up() {
  struct stat status {};
  return file_status(sampler().notes, &status) == 0 && status.st_nlink == 0;
}

void close_notes() {
  close(sampler().notes);
  sampler().notes = -1;
}

// The counts that async-profiler keeps of itself, as it prints them ("samples_total 12").
void note_metrics(const char* text, size_t length) {
  std::string_view rest(text, length);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    const size_t space = line.find(' ');
    const std::string_view key = line.substr(0, space);
    if (space != std::string_view::npos && key.ends_with("_total")) note(key, line.substr(space + 1));
  }
}

void ignore_output(const char*, size_t) {}

std::string metrics;
void gather_metrics(const char* text, size_t length) { metrics.append(text, length); }

// --- the library -----------------------------------------------------------------------------------------------------

struct Loaded {
  std::string ours;    // where an earlier attach loaded it from
  std::string others;  // another async-profiler
};

int look_at_library(dl_phdr_info* info, size_t, void* found) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  auto* loaded = static_cast<Loaded*>(found);
  if (name == kOurLibrary) {
    loaded->ours = path;
    return 0;
  }
  for (const std::string_view other : kOthers) {
    if (name.find(other) != std::string_view::npos) loaded->others = path;
  }
  return 0;
}

// Loaded into a JVM that runs, the library marks the flag of JDK 21's warning about dynamic loading as set on the
// command line, for good; unless it is so already.
void* open_library(const std::string& path) {
  const auto origin = agent().hotspot.pretend_on_command_line("EnableDynamicAgentLoading");
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (origin) HotSpot::restore_flag(*origin);
  return handle;
}

// Finds the entry point; returns why there is none.
std::string load_library() {
  Dl_info jvm{};
  const void* structs = libjvm_symbol("gHotSpotVMStructs");
  if (structs == nullptr || dladdr(structs, &jvm) == 0) return "it is no HotSpot JVM";
  // async-profiler reads symbols from the file while it is loaded, and would print that it can't.
  if (access(jvm.dli_fname, R_OK) != 0) return "the file of its libjvm.so is gone or can't be read";
  if (agent().hotspot.bool_flag("CheckJNICalls").value_or(false)) {
    return "it runs with -Xcheck:jni, which would print warnings about async-profiler into the program's output";
  }
  Loaded loaded;
  dl_iterate_phdr(look_at_library, &loaded);
  if (!loaded.others.empty()) return "another async-profiler is in it: " + loaded.others;
  void* handle = nullptr;
  if (!loaded.ours.empty()) handle = dlopen(loaded.ours.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) handle = open_library(agent().options.sampler);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return std::string("async-profiler can't be loaded: ") + (reason == nullptr ? "no reason given" : reason);
  }
  sampler().execute = reinterpret_cast<Execute>(dlsym(handle, "asprof_execute"));
  sampler().attach = reinterpret_cast<Attach>(dlsym(handle, "Agent_OnAttach"));
  const bool is_whole = sampler().execute != nullptr && sampler().attach != nullptr;
  return is_whole ? "" : "the library of async-profiler lacks an entry point";
}

// --- start and stop --------------------------------------------------------------------------------------------------

// `file=` of async-profiler knows no escape for a comma and expands percent signs: so the directory goes by descriptor.
std::string start_with(std::string_view events) {
  const size_t slash = sampler().path.rfind('/');
  const int directory = open(sampler().path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return "its directory can't be opened";
  std::string command(kStart);
  command += "/proc/self/fd/" + std::to_string(directory) + sampler().path.substr(slash) + ".jfr.part,";
  command += events;
  const char* error = sampler().execute(command.c_str(), ignore_output);
  close(directory);
  return error == nullptr ? "" : error;
}

// Makes it known to async-profiler which JVM this is: it looks for one by itself, but finds none before VMInit is over.
bool introduce() {
  char command[] = "version,loglevel=none";
  return sampler().attach(agent().vm, command, nullptr) == JNI_OK;
}

// Two sampling signals that are due at the same time would be delivered one inside the other: the inner one then finds
// async-profiler's handler instead of the program, and no stack can be walked past it. So each waits for the other.
void keep_signals_apart() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(sampler().execute), &library) == 0) return;
  sigset_t ours;
  sigemptyset(&ours);
  constexpr int kCandidates[] = {SIGPROF, SIGVTALRM, SIGSTKFLT, SIGPWR, SIGXCPU, SIGXFSZ, SIGIO};
  for (const bool change : {false, true}) {
    for (const int number : kCandidates) {
      struct sigaction action {};
      Dl_info handler{};
      if (sigaction(number, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) == 0) continue;
      if (dladdr(reinterpret_cast<void*>(action.sa_sigaction), &handler) == 0) continue;
      if (handler.dli_fbase != library.dli_fbase) continue;
      if (change) {
        sigorset(&action.sa_mask, &action.sa_mask, &ours);
        sigaction(number, &action, nullptr);
      } else {
        sigaddset(&ours, number);
      }
    }
  }
}

// Code that was compiled before a first attach knows its methods and lines at safepoints only; from then on
// async-profiler has the compiler keep them all (-XX:+DebugNonSafepoints), for good. Asked before it is told.
void note_old_code() {
  static bool has_old_code = false;
  const bool keeps_lines = agent().hotspot.bool_flag("DebugNonSafepoints").value_or(true);
  has_old_code = has_old_code || (agent().attached && !keeps_lines);
  if (has_old_code) note("old_code", "1");
}

// Starts what was asked for; where the event of the first place can't be had, the others alone.
void start() {
  note_old_code();
  const std::string_view events = agent().options.sample;
  std::string problem = introduce() ? start_with(events) : "async-profiler can't use this JVM";
  const size_t comma = events.find(",and,");
  if (!problem.empty() && comma != std::string_view::npos) {
    note("event_problem", problem);
    problem = start_with(events.substr(comma + 5));
  }
  if (problem.empty()) {
    keep_signals_apart();
    note("started_ns", std::to_string(monotonic_ns()));
    sampler().state = State::kOn;
    return;
  }
  note("problem", problem);
  unlink((sampler().path + ".jfr.part").c_str());
  close_notes();
  sampler().state = State::kOff;
}

// Under the lock.
void stop() {
  Sampler& self = sampler();
  if (self.state != State::kOn) return;
  self.state = State::kOff;
  metrics.clear();
  self.execute("metrics,loglevel=none", gather_metrics);
  note_metrics(metrics.data(), metrics.size());
  // An error means that it has stopped by itself: at VM death its own callback may come before ours.
  self.execute("stop,quiet,loglevel=none", ignore_output);
  rename((self.path + ".jfr.part").c_str(), (self.path + ".jfr").c_str());
  note("stopped_ns", std::to_string(monotonic_ns()));
  close_notes();
}

void JNICALL run_sampler(jvmtiEnv* jvmti, JNIEnv*, void* generation) {
  const auto mine = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(generation));
  Sampler& self = sampler();
  const Locked locked(sampler().monitor);
  const auto is_mine = [&] { return self.generation.load() == mine; };
  if (!is_mine() || self.state != State::kStarting) return;
  start();
  jvmti->RawMonitorNotifyAll(self.monitor);
  while (is_mine() && self.state == State::kOn && self.wanted.load() && recording() != nullptr && !is_given_up()) {
    jvmti->RawMonitorWait(self.monitor, kTickMs);
  }
  if (is_mine()) stop();
  jvmti->RawMonitorNotifyAll(self.monitor);
}

bool start_thread(JNIEnv* jni) {
  const uint32_t generation = sampler().generation.fetch_add(1) + 1;
  jthread thread = new_headway_thread(jni);
  void* argument = reinterpret_cast<void*>(static_cast<uintptr_t>(generation));
  return thread != nullptr &&
         agent().jvmti->RunAgentThread(thread, run_sampler, argument, JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE;
}

}  // namespace

void begin_sampling(JNIEnv* jni) noexcept {
  Sampler& self = sampler();
  if (agent().options.sampler.empty() || jni->PushLocalFrame(32) != JNI_OK) return;
  if (self.monitor != nullptr ||
      agent().jvmti->CreateRawMonitor("headway sampler", &self.monitor) == JVMTI_ERROR_NONE) {
    const Locked locked(sampler().monitor);
    stop();  // of a recording before this one, whose recorder died
    if (open_notes()) {
      const std::string problem = load_library();
      self.state = State::kStarting;
      self.wanted = true;
      if (problem.empty() && start_thread(jni)) {
        const int64_t end_ns = monotonic_ns() + kPatienceMs * 1'000'000;
        while (self.state == State::kStarting && monotonic_ns() < end_ns) {
          agent().jvmti->RawMonitorWait(self.monitor, kPatienceMs);
        }
      } else {
        note("problem", problem.empty() ? "the JVM gives the sampler no thread of its own" : problem);
        self.state = State::kOff;
        close_notes();
      }
    }
  }
  jni->PopLocalFrame(nullptr);
}

void wake_sampler() noexcept { sampler().wanted = false; }

void end_sampling() noexcept {
  Sampler& self = sampler();
  self.wanted = false;
  if (self.monitor == nullptr) return;
  const Locked locked(sampler().monitor);
  // On the sampler's own thread: what it takes is headway's CPU time, not that of the program's last thread.
  agent().jvmti->RawMonitorNotifyAll(self.monitor);
  const int64_t end_ns = monotonic_ns() + kPatienceMs * 1'000'000;
  while (self.state == State::kOn && monotonic_ns() < end_ns) agent().jvmti->RawMonitorWait(self.monitor, kPatienceMs);
}

}  // namespace headway::agent
