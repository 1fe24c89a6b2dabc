// The signal is SIGSTKFLT where nobody uses it, which is nearly everywhere: Linux never sends it. SIGPROF belongs to
// other profilers and to programs that profile themselves, which may come later than we do.
//
// A handler finds its thread by its OS id: thread-local storage of a library that was loaded late may be allocated at
// its first use, which a handler must not do.
#include "agent/causal/sampling/sampling.h"

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "agent/causal/common/notes.h"
#include "agent/causal/common/options.h"
#include "agent/causal/ledger/accounts.h"
#include "agent/causal/sampling/lines.h"
#include "agent/causal/sampling/periods.h"
#include "agent/causal/sampling/running_code.h"
#include "agent/causal/sampling/sample_sums.h"
#include "agent/causal/sampling/sampled_threads.h"
#include "agent/causal/sampling/sleepers.h"
#include "agent/causal/sampling/target_ids.h"
#include "agent/causal/sections/lock_target.h"
#include "agent/core/clock.h"
#include "agent/core/old_glibc.h"
#include "agent/hotspot/vm_tables.h"
#include "agent/jvm/boot_classes.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

constexpr int kSignals[] = {SIGSTKFLT, SIGPROF, SIGVTALRM, SIGPWR};
constexpr int64_t kLeastRunNs = 100'000;  // between payments; half a period where that is less
constexpr int64_t kDearNs = 50'000;       // a sample, so dear that it is asked for its CPU time
constexpr jint kFewFrames = 16;
constexpr jint kManyFrames = 128;

struct Sampling {
  jvmtiEnv* jvmti = nullptr;         // an environment of its own, for an event that nobody else is to see
  ptrdiff_t jni_offset = 0;          // of the JNIEnv within its JavaThread; 0: unknown
  std::array<jmethodID, 2> waits{};  // native methods in which a thread waits for another one, or for time
  std::atomic<bool> has_all_lines{false};
  std::atomic<bool> is_fault_reported{false};
  std::atomic<bool> is_giving_up_reported{false};
};
Sampling& sampling() {
  static Sampling* const instance = new Sampling;
  return *instance;
}
std::atomic<Sampling*> published{nullptr};  // for handlers
bool* all_lines_flag = nullptr;             // HotSpot's, where we have changed it

ReaderState* find_reader(uint32_t tid) {
  Sampled* const thread = find_sampled(tid);
  return thread == nullptr ? nullptr : &thread->reader;
}

// --- the handler -----------------------------------------------------------------------------------------------------

// Of the calling thread. GetEnv reads a thread-local variable of libjvm's, which this thread has had from its begin.
JNIEnv* find_jni(const Sampling& self, Sampled& thread) {
  JNIEnv* jni = thread.jni.load(std::memory_order_relaxed);
  if (jni != nullptr) return jni;
  void* env = nullptr;
  if (agent().vm->GetEnv(&env, JNI_VERSION_1_8) != JNI_OK) return nullptr;
  jni = static_cast<JNIEnv*>(env);
  thread.jni.store(jni, std::memory_order_relaxed);
  if (self.jni_offset != 0) {
    thread.java_thread.store(static_cast<const char*>(env) - self.jni_offset, std::memory_order_relaxed);
  }
  return jni;
}

Sample sample_of(const StackPlace& place, int64_t weight_ns) {
  Sample sample{};
  sample.line = place.is_read ? place.frame.line : kUnreadLine;
  sample.method = place.frame.method;
  sample.in_target_method = place.in_target;
  sample.is_old_code = place.is_old_code;
  sample.weight_ns = weight_ns;
  return sample;
}

// A thread that pays at a hook stands in the hook's line, running or asleep, and no line takes that time. What it ran
// before is counted with its next sample, as it is where no sample comes in between.
bool is_paying(const Sampled& thread) { return thread.account->is_settling.load(std::memory_order_relaxed); }

// Nowhere but in Java code: there a thread holds no lock of the JVM's or of the C library's.
bool may_pay(const Sampled& thread, void* ucontext) {
  return agent().hotspot.thread_state(thread.java_thread.load(std::memory_order_relaxed)) == HotSpot::kInJava &&
         agent().hotspot.is_in_code_cache(program_counter(ucontext));
}

// Another thread's sleep in the faster line has just begun: it is to stand still for that, not to run on until its next
// sample and then to stand still with the sleeper awake.
void pay_called(Sampled& thread, void* ucontext, int64_t cpu_ns) {
  if (cpu_ns - thread.paid_cpu_ns < kLeastRunNs || !may_pay(thread, ucontext)) return;
  settle_sample(*thread.account, true);
  thread.paid_cpu_ns = thread_cpu_ns();
}

void sample_running(const Sampling& self, Sampled& thread, void* ucontext, int64_t cpu_ns) {
  const int64_t spun = spun_ns(*thread.account);
  const int64_t weight_ns = cpu_ns - thread.counted_cpu_ns - (spun - thread.counted_spun_ns);
  // Up to here: what follows is counted with the next sample. One system call less, and those cost microseconds.
  thread.counted_cpu_ns = cpu_ns;
  thread.counted_spun_ns = spun;
  const int64_t begin_ns = monotonic_ns();
  JNIEnv* const jni = find_jni(self, thread);
  const char* const java_thread = thread.java_thread.load(std::memory_order_relaxed);
  const StackPlace place = read_stack(thread.reader, jni, java_thread, ucontext, target_method());
  const Sample sample = sample_of(place, std::max<int64_t>(weight_ns, 0));
  if (!place.is_read) count_unread(program_counter(ucontext), place.refused, sample.weight_ns);
  count_sample(thread, sample);
  int64_t cost_ns = monotonic_ns() - begin_ns;
  if (cost_ns > kDearNs) cost_ns = std::min(cost_ns, thread_cpu_ns() - cpu_ns);  // it may have lost its core
  keep_cost_low(thread, cost_ns);
  // While it paid, its timer went on. Were that signal's payment to follow at once, the thread would not get on at all
  // where the debt grows as fast as it is paid (a line that sleeps all the time, made free), and never see that the JVM
  // wants it to stop at a safepoint.
  if (weight_ns < std::min(kLeastRunNs, thread.timer.period_ns / 2)) return;
  settle_sample(*thread.account, may_pay(thread, ucontext));
  const int64_t spun_now = spun_ns(*thread.account);
  if (spun_now == spun) return;
  thread.counted_spun_ns = spun_now;
  thread.counted_cpu_ns = thread.paid_cpu_ns = thread_cpu_ns();
}

// The agent's thread found it asleep a moment ago.
void sample_sleeping(const Sampling& self, Sampled& thread, void* ucontext, int64_t cpu_ns) {
  constexpr int64_t kWakingNs = 100'000;  // CPU time that taking the signal may have used
  const int64_t weight_ns = thread.look.weight_ns.exchange(0, std::memory_order_acquire);
  JNIEnv* const jni = find_jni(self, thread);
  const int state = agent().hotspot.thread_state(thread.java_thread.load(std::memory_order_relaxed));
  if (weight_ns == 0 || jni == nullptr || state == HotSpot::kInJava || is_waiting(*thread.account)) return;
  if (cpu_ns - thread.look.cpu_ns > kWakingNs) return;  // it has woken up meanwhile
  StackPlace place = read_stack(thread.reader, jni, nullptr, ucontext, target_method());
  // It is not the line that makes it wait: a collection, or, where no native method was called, a safepoint or the VM.
  if (place.refused == kCollecting) return;
  if (place.is_read && state != HotSpot::kInNative && !place.is_native) return;
  // Its wait began before the recording: whether time or another thread will end it is not known, so no line has it.
  if (place.innermost != nullptr && std::ranges::find(self.waits, place.innermost) != self.waits.end()) {
    place.frame = {};
    place.in_target = false;
  }
  Sample sample = sample_of(place, weight_ns);
  sample.is_blocked = true;
  thread.look.sample = sample;
  thread.look.is_known.store(true, std::memory_order_release);
  count_sample(thread, sample);
  thread.counted_cpu_ns += thread_cpu_ns() - cpu_ns;  // not the program's
}

void on_signal(int, siginfo_t* info, void* ucontext) {
  const int error = errno;
  Sampling* const self = published.load(std::memory_order_acquire);
  if (self != nullptr && is_sampling()) {
    if (Sampled* const thread = find_sampled(this_tid()); thread != nullptr && !thread->is_inside.exchange(true)) {
      const int64_t cpu_ns = thread_cpu_ns();
      // Two signals at once are one: it may have come as the timer's, or be a look at a sleeper.
      const bool is_called = thread->is_called.exchange(false);
      if (is_paying(*thread)) {
        // No sample.
      } else if (info->si_code == SI_TKILL && is_called && thread->look.weight_ns.load() == 0) {
        pay_called(*thread, ucontext, cpu_ns);
      } else if (info->si_code == SI_TKILL) {
        sample_sleeping(*self, *thread, ucontext, cpu_ns);
      } else {
        sample_running(*self, *thread, ucontext, cpu_ns);
      }
      thread->is_inside.store(false);
    }
  }
  errno = error;
}

// A classic signal that nobody handles, ignores or blocks; 0: there is none. What an earlier recording took is ours.
int choose_signal() {
  sigset_t blocked;
  sigemptyset(&blocked);
  set_signal_mask(SIG_SETMASK, nullptr, &blocked);
  for (const int number : kSignals) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || sigismember(&blocked, number) == 1) continue;
    if (action.sa_sigaction == on_signal) return number;
    if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) return number;
  }
  return 0;
}

// Stays for good: a signal may come after the last timer is gone, and by default it would end the process.
bool install_handler(int number) {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(number, &action, nullptr) == 0;
}

// --- start -----------------------------------------------------------------------------------------------------------

void JNICALL ignore_class_load(jvmtiEnv*, JNIEnv*, jthread, jclass) {}
void JNICALL take_stub(jvmtiEnv*, const char* name, const void* address, jint bytes) {
  if (name != nullptr && bytes > 0)
    note_stub(name, reinterpret_cast<uintptr_t>(address), static_cast<uintptr_t>(bytes));
}

// AsyncGetCallTrace answers only while somebody listens to this event, which does nothing here. (With it, HotSpot makes
// jmethodIDs where it must.)
bool listen_to_class_loads(Sampling& self) {
  if (self.jvmti == nullptr) {
    void* env = nullptr;
    if (agent().vm->GetEnv(&env, JVMTI_VERSION_1_2) != JNI_OK) return false;
    self.jvmti = static_cast<jvmtiEnv*>(env);
    jvmtiEventCallbacks callbacks{};
    callbacks.ClassLoad = ignore_class_load;
    callbacks.DynamicCodeGenerated = take_stub;
    if (self.jvmti->SetEventCallbacks(&callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE) return false;
    for (int capability = 0; capability < 2; ++capability) {
      jvmtiCapabilities wanted{};
      if (capability == 0) wanted.can_get_line_numbers = 1;
      if (capability == 1) wanted.can_get_source_file_name = 1;
      self.jvmti->AddCapabilities(&wanted);  // without them lines are methods, that is all
    }
  }
  return self.jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_LOAD, nullptr) == JVMTI_ERROR_NONE;
}

// The JVM's stubs by name, those that are there and those that come. Without names each blob of them is one.
void listen_to_stubs(const Sampling& self) {
  self.jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, nullptr);
  self.jvmti->GenerateEvents(JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
}

// Where the JNIEnv is within a JavaThread, seen at the calling thread.
ptrdiff_t find_jni_offset(JNIEnv* jni) {
  jthread thread = nullptr;
  if (agent().thread_eetop == nullptr || agent().jvmti->GetCurrentThread(&thread) != JVMTI_ERROR_NONE) return 0;
  const jlong eetop = jni->GetLongField(thread, agent().thread_eetop);
  jni->DeleteLocalRef(thread);
  if (agent().hotspot.os_thread_id(eetop) != static_cast<pid_t>(this_tid())) return 0;
  return reinterpret_cast<const char*>(jni) - reinterpret_cast<const char*>(eetop);
}

// An older JDK has the first name, a newer one the second.
jmethodID native_wait(JNIEnv* jni, const char* class_name, const char* name, const char* newer,
                      const char* descriptor) {
  jclass type = boot_class(jni, class_name);
  if (type == nullptr) return nullptr;
  jmethodID found = jni->GetMethodID(type, newer, descriptor);
  if (found == nullptr) {
    jni->ExceptionClear();
    found = jni->GetMethodID(type, name, descriptor);
    if (found == nullptr) jni->ExceptionClear();
  }
  jni->DeleteLocalRef(type);
  return found;
}

// Of a wait with a time limit, at frame `at`. In a critical section only if the lock is kept meanwhile.
bool is_target(uint32_t target, const jvmtiFrameInfo* frames, jint at) {
  if (target == 0) return false;
  if (target != kSectionsTarget) return is_target_method(method_of(frames[at].method));
  if (!is_in_section(frames[at].method, static_cast<jint>(frames[at].location))) return false;
  return std::none_of(frames, frames + at, [](const jvmtiFrameInfo& frame) { return gives_lock_back(frame.method); });
}

void refuse(std::string_view what, std::string_view reason) {
  problem("HW609", std::string(what) + ": " + std::string(reason));
}

}  // namespace

bool timers_are_perf() noexcept { return perf_is_allowed(); }

void compile_with_all_lines() noexcept {
  all_lines_flag = default_flag("DebugNonSafepoints");
  if (all_lines_flag != nullptr) *all_lines_flag = true;
}

bool start_sampling(JNIEnv* jni) noexcept {
  Sampling& self = sampling();
  const int number = choose_signal();
  if (number == 0 || !install_handler(number)) {
    refuse("no samples", "the program uses all signals that sampling could");
    return false;
  }
  if (!listen_to_class_loads(self)) {
    refuse("no samples", "the JVM tells of no class loads, without which it shows no stacks");
    return false;
  }
  set_sampling_signal(number);
  self.jni_offset = find_jni_offset(jni);
  self.waits = {native_wait(jni, "java/lang/Object", "wait", "wait0", "(J)V"),
                native_wait(jni, "jdk/internal/misc/Unsafe", "park", "park", "(ZJ)V")};
  begin_periods(causal_spec().period_ns, causal_spec().period_is_asked);
  prepare_timers(number, causal_spec().period_ns);
  if (const char* reason = prepare_reader(find_reader)) refuse("stacks can't be read", reason);
  listen_to_stubs(self);
  // At a launch that was done before anything was compiled.
  if (all_lines_flag == nullptr) {
    if (!agent().hotspot.bool_flag("DebugNonSafepoints").value_or(false)) remember_old_code();
    compile_with_all_lines();
  }
  self.has_all_lines = agent().hotspot.bool_flag("DebugNonSafepoints").value_or(false);
  note_loaded_classes(self.jvmti, jni);
  clear_sample_sums();
  begin_sampled();
  self.is_fault_reported = false;
  self.is_giving_up_reported = false;
  published.store(&self, std::memory_order_release);
  switch_sampling(true);
  // Threads that have an account already; later ones arm themselves.
  ledger().each([](DelayAccount& account) { arm_timer(account, account.tid.load(std::memory_order_relaxed)); });
  if (!start_sleepers(jni)) refuse("sleeping threads are not looked at", "no thread of headway's could be started");
  return true;
}

void stop_sampling() noexcept {
  Sampling& self = sampling();
  if (!switch_sampling(false)) return;
  stop_sleepers();
  forget_sampled();
  release_reader();
  if (self.jvmti != nullptr) {
    self.jvmti->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_LOAD, nullptr);
    self.jvmti->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, nullptr);
  }
  if (all_lines_flag != nullptr) *all_lines_flag = false;
  all_lines_flag = nullptr;
}

void note_class(JNIEnv*, jclass type, std::string_view name) noexcept {
  if (sampling().jvmti != nullptr) note_class_lines(sampling().jvmti, type, name);
}

Sample waiting_sample(int64_t waited_ns) noexcept {
  Sample sample{};
  sample.is_blocked = sample.is_whole = true;
  sample.weight_ns = waited_ns;
  const uint32_t target = target_method();
  std::array<jvmtiFrameInfo, kManyFrames> frames;
  for (const jint depth : {kFewFrames, kManyFrames}) {
    jint count = 0;
    const jvmtiError error = agent().jvmti->GetStackTrace(nullptr, 0, depth, frames.data(), &count);
    if (error != JVMTI_ERROR_NONE) sample.line = kUnreadLine;
    if (error != JVMTI_ERROR_NONE) break;
    for (jint i = 0; i < count; ++i) {
      const jvmtiFrameInfo& frame = frames[static_cast<size_t>(i)];
      if (sample.method == 0) {
        const FramePlace place = place_of(frame.method, static_cast<jint>(frame.location));
        sample.line = place.line;
        sample.method = place.method;
      }
      if (is_target(target, frames.data(), i)) sample.in_target_method = true;
    }
    const bool is_enough = sample.method != 0 && (target == 0 || sample.in_target_method);
    if (is_enough || count < depth) break;
  }
  count_one_more();
  return sample;
}

void timed_wait_ended(DelayAccount& account, int64_t waited_ns) noexcept {
  if (is_sampling()) count_wait(account, waiting_sample(waited_ns));
}

SamplingHealth sampling_health() noexcept {
  Sampling& self = sampling();
  const ReaderHealth reader = reader_health();
  SamplingHealth health;
  const SampleSums sums = sample_sums();
  health.samples = sums.samples;
  health.faults = reader.faults;
  std::copy(reader.refused.begin(), reader.refused.end(), health.refused);
  health.threads_without_timer = threads_without_timer();
  health.out_of_scope_ns = sums.out_of_scope_ns;
  health.unread_ns = sums.unread_ns;
  health.old_code_ns = sums.old_code_ns;
  health.has_all_lines = self.has_all_lines.load(std::memory_order_relaxed);
  health.found_frames = reader.found_frames;
  if (reader.threads_given_up != 0 && !self.is_fault_reported.exchange(true)) {
    refuse("a thread's stacks are not read any more", "that faulted several times, without effect on the program");
  }
  if (reader.is_given_up && !self.is_giving_up_reported.exchange(true)) {
    refuse("no stacks are read any more", "that faulted too often, without effect on the program");
  }
  return health;
}

}  // namespace headway::agent::causal
