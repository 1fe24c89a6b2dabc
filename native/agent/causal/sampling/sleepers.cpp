// Threads asleep in Thread.sleep or I/O: their CPU timers stand still, so the agent's own thread looks at them by the
// wall clock. Each look stands for the time since the last one: a thread that sleeps a fifth of the time is found
// asleep in a fifth of the looks.
//
// Where it sleeps only the thread itself can tell, in the handler of a signal. One signal per sleep will do: while its
// CPU clock stands still it has not run, so it is where it was. The signal itself makes it run once; that it has run
// once and not more often the kernel tells (schedstat). Waits that the hooks know of are not looked at: at their
// end it is known whether they were ended by time or by another thread.
#include "agent/causal/sampling/sleepers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "agent/causal/common/notes.h"
#include "agent/causal/ledger/accounts.h"
#include "agent/causal/sampling/own_io.h"
#include "agent/causal/sampling/sample_sums.h"
#include "agent/causal/sampling/sampled_threads.h"
#include "agent/core/clock.h"
#include "agent/jvm/agent_thread.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kTickNs = 5'000'000;
constexpr int64_t kLongestNs = 40'000'000;  // between two looks at a long sleep
constexpr uint32_t kMostLooks = 16;         // that take a system call or more, in a tick
constexpr uint32_t kMostThreads = 512;      // looked at in a tick
constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMostNames = 8;

struct Sleepers {
  std::atomic<uint32_t> generation{0};  // counts recordings: a thread of an older one ends
  std::mutex mutex;                     // guards the names
  std::vector<std::string> out_of_scope;
};
Sleepers& sleepers() {
  static Sleepers* const instance = new Sleepers;
  return *instance;
}

// --- what the kernel says of a thread --------------------------------------------------------------------------------

size_t read_of_thread(uint32_t tid, const char* file, char* out, size_t capacity) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, file);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, out, capacity - 1);
  close(fd);
  out[std::max<ssize_t>(got, 0)] = '\0';
  return static_cast<size_t>(std::max<ssize_t>(got, 0));
}

bool is_asleep(uint32_t tid) {
  char text[512];
  if (read_of_thread(tid, "stat", text, sizeof(text)) == 0) return false;
  const char* const name_end = strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' && (name_end[2] == 'S' || name_end[2] == 'D');
}

// How often it has been given a CPU; -1: this kernel does not say.
int64_t turns_of(uint32_t tid) {
  char text[128];
  long long turns = -1;
  if (read_of_thread(tid, "schedstat", text, sizeof(text)) == 0) return -1;
  return sscanf(text, "%*s %*s %lld", &turns) == 1 ? turns : -1;
}

// --- one look --------------------------------------------------------------------------------------------------------

struct Tick {
  int64_t now_ns;
  uint32_t looks = 0;
};

void credit(Sampled& thread, int64_t elapsed_ns) {
  Sample sample = thread.look.sample;
  sample.weight_ns = elapsed_ns;
  count_sample(thread, sample);
  thread.look.interval_ns = std::min(2 * thread.look.interval_ns, kLongestNs);
}

// It may be asleep, who knows where.
void look_closely(Sampled& thread, int64_t elapsed_ns) {
  Look& look = thread.look;
  const uint32_t tid = thread.tid.load(std::memory_order_relaxed);
  const bool was_known = look.is_known.exchange(false, std::memory_order_acquire);
  look.interval_ns = kTickNs;
  if (!is_asleep(tid)) {
    look.turns = -1;
    return;
  }
  thread.account->reads_own.store(waits_for_this_process(tid), std::memory_order_relaxed);
  const int64_t turns = turns_of(tid);
  if (was_known && look.turns >= 0 && turns == look.turns + 1) {
    look.same_sleep = true;  // it ran once, for our signal
    credit(thread, elapsed_ns);
    return;
  }
  look.turns = turns;
  look.weight_ns.store(elapsed_ns, std::memory_order_release);
  syscall(SYS_tgkill, getpid(), tid, sampling_signal());
}

bool look_at(Sampled& thread, void* context) {
  auto& tick = *static_cast<Tick*>(context);
  Look& look = thread.look;
  const int64_t elapsed_ns = tick.now_ns - look.seen_ns;
  if (elapsed_ns < look.interval_ns) return true;
  look.seen_ns = tick.now_ns;
  const int state = agent().hotspot.thread_state(thread.java_thread.load(std::memory_order_relaxed));
  const bool is_paying = thread.account->is_settling.load(std::memory_order_relaxed);
  if (state == HotSpot::kInJava || is_waiting(*thread.account) || is_paying) {
    look.same_sleep = false;
    look.turns = -1;
    look.interval_ns = kTickNs;
    return true;
  }
  const int64_t cpu_ns = cpu_ns_of(thread.tid.load(std::memory_order_relaxed));
  const bool has_run = cpu_ns != look.cpu_ns;
  look.cpu_ns = cpu_ns;
  if (look.same_sleep && !has_run) {
    credit(thread, elapsed_ns);
  } else {
    look.same_sleep = false;
    look_closely(thread, elapsed_ns);
    ++tick.looks;
  }
  return tick.looks < kMostLooks;
}

// --- names of what runs out of scope ---------------------------------------------------------------------------------

struct Wanted {
  const char* java_thread = nullptr;
};

bool find_out_of_scope(Sampled& thread, void* context) {
  if (!thread.is_out_of_scope.load(std::memory_order_relaxed)) return true;
  static_cast<Wanted*>(context)->java_thread = thread.java_thread.load(std::memory_order_relaxed);
  return false;
}

std::string name_of(jvmtiEnv* jvmti, JNIEnv* jni, jmethodID method) {
  jclass type = nullptr;
  char* signature = nullptr;
  char* name = nullptr;
  std::string text;
  if (jvmti->GetMethodDeclaringClass(method, &type) == JVMTI_ERROR_NONE &&
      jvmti->GetClassSignature(type, &signature, nullptr) == JVMTI_ERROR_NONE &&
      jvmti->GetMethodName(method, &name, nullptr, nullptr) == JVMTI_ERROR_NONE && signature[0] == 'L') {
    text = signature + 1;
    if (!text.empty()) text.pop_back();
    std::replace(text.begin(), text.end(), '/', '.');
    text += std::string(".") + name;
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  if (type != nullptr) jni->DeleteLocalRef(type);
  return text;
}

// Once a second, while there are such samples and names are missing: the innermost method of one such thread.
void look_out_of_scope(jvmtiEnv* jvmti, JNIEnv* jni, uint32_t* position) {
  Wanted wanted;
  each_sampled(position, kMostThreads, find_out_of_scope, &wanted);
  if (wanted.java_thread == nullptr || jni->PushLocalFrame(16) != JNI_OK) return;
  jint count = 0;
  jthread* threads = nullptr;
  if (jvmti->GetAllThreads(&count, &threads) == JVMTI_ERROR_NONE) {
    for (jint i = 0; i < count; ++i) {
      if (jni->GetLongField(threads[i], agent().thread_eetop) != reinterpret_cast<jlong>(wanted.java_thread)) continue;
      jvmtiFrameInfo frame{};
      jint frames = 0;
      if (jvmti->GetStackTrace(threads[i], 0, 1, &frame, &frames) != JVMTI_ERROR_NONE || frames == 0) break;
      const std::string name = name_of(jvmti, jni, frame.method);
      const std::lock_guard<std::mutex> guard(sleepers().mutex);
      std::vector<std::string>& names = sleepers().out_of_scope;
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      break;
    }
    jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
  }
  jni->PopLocalFrame(nullptr);
}

bool names_are_missing() {
  const std::lock_guard<std::mutex> guard(sleepers().mutex);
  return sleepers().out_of_scope.size() < kMostNames;
}

// --- the thread ------------------------------------------------------------------------------------------------------

void JNICALL look_around(jvmtiEnv* jvmti, JNIEnv* jni, void* generation) {
  const auto mine = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(generation));
  uint32_t position = 0;
  uint32_t names_position = 0;
  int64_t named_ns = monotonic_ns();
  while (sleepers().generation.load() == mine && is_sampling() && recording() != nullptr) {
    const timespec nap{0, kTickNs};
    nanosleep(&nap, nullptr);
    Tick tick{monotonic_ns()};
    each_sampled(&position, kMostThreads, look_at, &tick);
    if (tick.now_ns - named_ns < kSecond) continue;
    named_ns = tick.now_ns;
    if (is_sampling() && names_are_missing()) look_out_of_scope(jvmti, jni, &names_position);
  }
}

}  // namespace

bool start_sleepers(JNIEnv* jni) noexcept {
  const uint32_t generation = sleepers().generation.fetch_add(1) + 1;
  if (jni->PushLocalFrame(32) != JNI_OK) return false;
  jthread thread = new_headway_thread(jni);
  void* argument = reinterpret_cast<void*>(static_cast<uintptr_t>(generation));
  const bool is_started =
      thread != nullptr &&
      agent().jvmti->RunAgentThread(thread, look_around, argument, JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE;
  jni->PopLocalFrame(nullptr);
  return is_started;
}

void stop_sleepers() noexcept { sleepers().generation.fetch_add(1); }

std::string out_of_scope_methods() noexcept {
  const std::lock_guard<std::mutex> guard(sleepers().mutex);
  std::string text;
  for (const std::string& name : sleepers().out_of_scope) text += (text.empty() ? "" : ",") + json_text(name);
  return text;
}

}  // namespace headway::agent::causal
