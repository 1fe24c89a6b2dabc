// AsyncGetCallTrace is no part of any interface, but JDK 17 to 25 export it, and most profilers use it. It checks what
// it follows, yet it has been seen to crash (JDK-8022893, JDK-8283849 and others). So for the time it runs, SIGSEGV and
// SIGBUS come to a handler of ours first. Unless this very thread is reading its stack just then, that handler does
// nothing but call HotSpot's, which makes null checks and safepoint polls of these signals: one load and one jump.
//
// A fault inside SafeFetch, HotSpot's own way to probe memory, is HotSpot's business also while a stack is read. It is
// told by its code: in JDK 17 it is a stub in the code cache, in later ones a function of two instructions.
//
// Leaving by siglongjmp is possible because AsyncGetCallTrace takes no locks and no memory. What it may leave behind is
// Thread::_in_asgct: then that thread does not refresh two small caches of code any more, that is all.
#include "agent/causal/sampling/stack_reader.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "agent/causal/sampling/callers.h"
#include "agent/causal/sampling/running_code.h"
#include "agent/causal/sampling/target_ids.h"
#include "agent/causal/sections/lock_target.h"
#include "agent/core/old_glibc.h"
#include "agent/hotspot/hotspot.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

using CallFrame = StackFrame;  // as AsyncGetCallTrace fills it in
struct CallTrace {
  JNIEnv* jni;
  jint count;  // <= 0: a code
  CallFrame* frames;
};
using GetCallTrace = void (*)(CallTrace* trace, jint depth, void* ucontext);

constexpr jint kShallow = 8;
constexpr jint kDeeper = 64;
constexpr jint kDeepest = 512;
constexpr uint32_t kFaultsOfThread = 3;
constexpr uint64_t kFaultsOfAll = 20;
constexpr std::array<int, 2> kFaultSignals = {SIGSEGV, SIGBUS};

// Handlers run on the stacks of Java threads, of which little may be left: large arrays are kept elsewhere.
struct DeepFrames {
  std::atomic<bool> is_taken{false};
  std::array<CallFrame, kDeepest> frames;
  std::array<uint32_t, kDeepest> methods;  // for who counts them
};

struct Reader {
  GetCallTrace get_call_trace = nullptr;
  ReaderState* (*find)(uint32_t tid) = nullptr;
  std::array<struct sigaction, 2> before{};
  std::atomic<bool> is_installed{false};
  std::atomic<uint32_t> readers{0};  // threads that are reading
  std::atomic<uint64_t> faults{0};
  std::atomic<uint32_t> threads_given_up{0};
  std::atomic<uint64_t> found_frames{0};
  std::array<std::atomic<uint64_t>, 32> refused{};
  uint32_t test_fault = 0;  // for tests: each so many-th reading faults
  std::atomic<uint32_t> readings{0};
  std::array<DeepFrames, 32> deep{};
  std::atomic<bool> counts_whole_stacks{false};
};
constinit Reader reader;

// --- the guard -------------------------------------------------------------------------------------------------------

bool is_safe_fetch(const void* ucontext) {
  const uintptr_t pc = program_counter(ucontext);
  if (pc < 4096) return false;  // a jump to nowhere: there is no code to look at
  if (agent().hotspot.is_in_code_cache(pc)) return true;
#if defined(__x86_64__)
  constexpr std::array<std::string_view, 2> kCodes = {
      "\x8b\x07\xc3\x89\xf0\xc3",           // mov (%rdi),%eax; ret; mov %esi,%eax; ret
      "\x48\x8b\x07\xc3\x48\x89\xf0\xc3"};  // the same with 64 bits
#elif defined(__aarch64__)
  using namespace std::string_view_literals;
  constexpr std::array<std::string_view, 2> kCodes = {
      "\x00\x00\x40\xb9\xc0\x03\x5f\xd6\xe0\x03\x01\x2a"sv,   // ldr w0,[x0]; ret; mov w0,w1
      "\x00\x00\x40\xf9\xc0\x03\x5f\xd6\xe0\x03\x01\xaa"sv};  // the same with 64 bits
#else
  constexpr std::array<std::string_view, 0> kCodes{};
#endif
  return std::any_of(kCodes.begin(), kCodes.end(), [pc](std::string_view code) {
    return std::memcmp(reinterpret_cast<const void*>(pc), code.data(), code.size()) == 0;
  });
}

void pass_on(int number, siginfo_t* info, void* ucontext) {
  const struct sigaction& next = reader.before[number == SIGSEGV ? 0 : 1];
  if ((next.sa_flags & SA_SIGINFO) != 0) {
    next.sa_sigaction(number, info, ucontext);
  } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
    next.sa_handler(number);
  } else {
    // As if we had not been here: it happens again, without us.
    sigaction(number, &next, nullptr);
  }
}

void on_fault(int number, siginfo_t* info, void* ucontext) {
  if (reader.readers.load(std::memory_order_relaxed) != 0) {
    ReaderState* const state = reader.find(static_cast<uint32_t>(syscall(SYS_gettid)));
    sigjmp_buf* const escape = state == nullptr ? nullptr : state->escape.load(std::memory_order_relaxed);
    if (escape != nullptr && !is_safe_fetch(ucontext)) {
      state->escape.store(nullptr, std::memory_order_relaxed);
      // The mask that held where the fault was: siglongjmp does not restore it here.
      set_signal_mask(SIG_SETMASK, &static_cast<ucontext_t*>(ucontext)->uc_sigmask, nullptr);
      siglongjmp(*escape, 1);
    }
  }
  pass_on(number, info, ucontext);
}

void install_guard() {
  if (reader.is_installed.exchange(true)) return;
  for (size_t i = 0; i < kFaultSignals.size(); ++i) {
    struct sigaction action {};
    if (sigaction(kFaultSignals[i], nullptr, &action) != 0) continue;
    if (action.sa_sigaction == on_fault) continue;  // somebody put his before ours and took it away again
    reader.before[i] = action;
    action.sa_sigaction = on_fault;
    action.sa_flags |= SA_SIGINFO;  // mask and other flags stay as HotSpot wants them
    sigaction(kFaultSignals[i], &action, nullptr);
  }
}

// --- reading ---------------------------------------------------------------------------------------------------------

// False: it faulted. Nothing here may live in a register across the fault.
template <typename Act>
__attribute__((noinline)) bool guarded(ReaderState& state, const Act& act) {
  sigjmp_buf escape;
  reader.readers.fetch_add(1, std::memory_order_relaxed);
  const bool is_fine = sigsetjmp(escape, 0) == 0;
  if (is_fine) {
    state.escape.store(&escape, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    act();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  state.escape.store(nullptr, std::memory_order_relaxed);
  reader.readers.fetch_sub(1, std::memory_order_relaxed);
  return is_fine;
}

void note_fault(ReaderState& state) {
  reader.faults.fetch_add(1, std::memory_order_relaxed);
  if (++state.faults == kFaultsOfThread) reader.threads_given_up.fetch_add(1, std::memory_order_relaxed);
}

// For tests: a place to write frames to that is none, so that AsyncGetCallTrace itself faults, in the middle of its
// work.
CallFrame* maybe_astray(CallFrame* frames) {
  if (reader.test_fault == 0) return frames;
  const uint32_t reading = reader.readings.fetch_add(1, std::memory_order_relaxed) + 1;
  return reading % reader.test_fault == 0 ? reinterpret_cast<CallFrame*>(uintptr_t{4096}) : frames;
}

bool is_target(const CallFrame& frame, uint32_t target) {
  return target == kSectionsTarget ? is_in_section(frame.method, frame.bci) : is_target_method(method_of(frame.method));
}

// True when there is no need to look deeper.
bool look_for_scope(const CallTrace& trace, jint from, uint32_t target, StackPlace& place) {
  for (jint i = from; i < trace.count; ++i) {
    const CallFrame& frame = trace.frames[i];
    if (place.frame.method == 0) place.frame = place_of(frame.method, frame.bci);
    if (target == kSectionsTarget && gives_lock_back(frame.method)) place.is_lent = true;
    if (target != 0 && !place.is_lent && is_target(frame, target)) place.in_target = true;
    if (place.frame.method != 0 && (target == 0 || place.in_target || place.is_lent)) return true;
  }
  return false;
}

DeepFrames* take_deep_frames() {
  for (DeepFrames& deep : reader.deep) {
    if (!deep.is_taken.load(std::memory_order_relaxed) && !deep.is_taken.exchange(true)) return &deep;
  }
  return nullptr;
}

// One reading; true when a deeper one could tell more.
bool read_to(ReaderState& state, CallTrace& trace, jint depth, void* ucontext, uint32_t target, StackPlace& place) {
  if (!guarded(state, [&] { reader.get_call_trace(&trace, depth, ucontext); })) {
    note_fault(state);
    place.is_read = false;
    return false;
  }
  if (trace.count <= 0) {
    // 0: no Java frames, as in a thread that begins: read, and nothing in scope.
    place.is_read = trace.count == 0;
    place.refused = std::min(-trace.count, static_cast<jint>(reader.refused.size()) - 1);
    return false;
  }
  constexpr jint kNativeMethod = -3;  // as AsyncGetCallTrace gives it for a bytecode index
  place.is_read = true;
  place.refused = 0;
  place.is_native = trace.frames[0].bci == kNativeMethod;
  place.innermost = trace.frames[0].method;
  place.frame = {};
  place.is_lent = false;
  return !look_for_scope(trace, 0, target, place) && trace.count >= depth;
}

}  // namespace

uintptr_t program_counter(const void* ucontext) noexcept {
  const auto* context = static_cast<const ucontext_t*>(ucontext);
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context->uc_mcontext.pc;
#else
  return 0;
#endif
}

const char* prepare_reader(ReaderState* (*find)(uint32_t tid)) noexcept {
  reader.get_call_trace = nullptr;
  const auto get_call_trace = reinterpret_cast<GetCallTrace>(libjvm_symbol("AsyncGetCallTrace"));
  if (get_call_trace == nullptr) return "this JVM has no AsyncGetCallTrace";
  if (agent().hotspot.bool_flag("CheckJNICalls").value_or(false)) {
    return "it runs with -Xcheck:jni, which would print that a handler of signals was changed";
  }
  prepare_running_code();
  reader.find = find;
  reader.faults = 0;
  reader.threads_given_up = 0;
  reader.found_frames = 0;
  for (auto& count : reader.refused) count = 0;
  const char* test = getenv("HEADWAY_TEST_STACK_FAULT");
  reader.test_fault = test == nullptr ? 0 : static_cast<uint32_t>(strtoul(test, nullptr, 10));
  install_guard();
  reader.get_call_trace = get_call_trace;
  return nullptr;
}

void count_whole_stacks(bool on) noexcept { reader.counts_whole_stacks.store(on, std::memory_order_relaxed); }

void release_reader() noexcept {
  if (!reader.is_installed.load()) return;
  for (int i = 0; i < 100 && reader.readers.load() != 0; ++i) {
    const timespec nap{0, 1'000'000};
    nanosleep(&nap, nullptr);
  }
  if (reader.readers.load() != 0) return;
  bool is_ours = true;
  for (const int number : kFaultSignals) {
    struct sigaction action {};
    is_ours = is_ours && sigaction(number, nullptr, &action) == 0 && action.sa_sigaction == on_fault;
  }
  if (!is_ours) return;  // who came after us calls ours: it stays, and passes on
  for (size_t i = 0; i < kFaultSignals.size(); ++i) sigaction(kFaultSignals[i], &reader.before[i], nullptr);
  reader.is_installed.store(false);
}

namespace {

void read_whole(ReaderState& state, CallTrace& trace, void* ucontext, uint32_t target, StackPlace& place) {
  DeepFrames* const deep = take_deep_frames();
  if (deep == nullptr) return;
  trace.frames = maybe_astray(deep->frames.data());
  read_to(state, trace, kDeepest, ucontext, target, place);
  // Of a stack that goes on, nobody knows how far out a frame is.
  if (place.is_read && trace.count > 0 && trace.count < kDeepest) {
    count_callers({deep->frames.data(), static_cast<size_t>(trace.count)}, deep->methods);
  }
  deep->is_taken.store(false, std::memory_order_release);
}

void read_all(ReaderState& state, CallTrace& trace, void* ucontext, uint32_t target, StackPlace& place) {
  if (reader.counts_whole_stacks.load(std::memory_order_relaxed)) {
    read_whole(state, trace, ucontext, target, place);
    return;
  }
  std::array<CallFrame, kShallow> few;
  trace.frames = maybe_astray(few.data());
  if (!read_to(state, trace, kShallow, ucontext, target, place)) return;
  DeepFrames* const deep = take_deep_frames();
  if (deep == nullptr) return;  // as far as it was seen
  trace.frames = maybe_astray(deep->frames.data());
  if (read_to(state, trace, kDeeper, ucontext, target, place)) {
    read_to(state, trace, kDeepest, ucontext, target, place);
  }
  deep->is_taken.store(false, std::memory_order_release);
}

Registers registers_of(const void* ucontext) {
  const auto& machine = static_cast<const ucontext_t*>(ucontext)->uc_mcontext;
  const auto plain = [](auto value) { return static_cast<uintptr_t>(value); };
#if defined(__x86_64__)
  return {plain(machine.gregs[REG_RIP]), plain(machine.gregs[REG_RSP]), plain(machine.gregs[REG_RBP]), 0};
#elif defined(__aarch64__)
  return {plain(machine.pc), plain(machine.sp), plain(machine.regs[29]), plain(machine.regs[30])};
#else
  return {plain(sizeof(machine) * 0), 0, 0, 0};
#endif
}

void set_registers(void* ucontext, uintptr_t pc, uintptr_t sp) {
  auto& machine = static_cast<ucontext_t*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  machine.gregs[REG_RIP] = static_cast<greg_t>(pc);
  machine.gregs[REG_RSP] = static_cast<greg_t>(sp);
#elif defined(__aarch64__)
  machine.pc = pc;
  machine.sp = sp;
#else
  (void)machine, (void)pc, (void)sp;
#endif
}

// A walk that begins elsewhere than HotSpot's own.
struct Start {
  JavaFrame frame;   // pc 0: none
  LeftFrame left;    // where the thread left Java code for the JVM; sp 0: it did not
  LeftFrame before;  // as the thread itself has it
};

Start find_start(const Registers& registers, const char* java_thread) {
  constexpr int kInJvm = 6;
  Start start;
  const StackBounds bounds = stack_bounds(java_thread);
  const int state = agent().hotspot.thread_state(java_thread);
  if (state == HotSpot::kInJava) find_java_frame(this_machine(), registers, bounds, running_code(), start.frame);
  if (state == kInJvm) {
    start.before = frame_left(java_thread);
    start.left = find_left_frame(this_machine(), start.before, bounds, running_code());
  }
  return start;
}

// From the Java frame that is nearest. Context and thread are as they were afterwards.
void read_from_java_frame(ReaderState& state, CallTrace& trace, const char* java_thread, void* ucontext,
                          uint32_t target, StackPlace& place) {
  if (java_thread == nullptr) return;
  const Registers registers = registers_of(ucontext);
  Start start;
  if (!guarded(state, [&] { start = find_start(registers, java_thread); })) {
    note_fault(state);
    return;
  }
  if (start.frame.pc != 0) {
    set_registers(ucontext, start.frame.pc, start.frame.sp);
    read_all(state, trace, ucontext, target, place);
    set_registers(ucontext, registers.pc, registers.sp);
  } else if (start.left.sp != 0) {
    set_frame_left(java_thread, start.left);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    read_all(state, trace, ucontext, target, place);
    set_frame_left(java_thread, start.before);
  }
  if (!place.is_read) return;
  reader.found_frames.fetch_add(1, std::memory_order_relaxed);
  guarded(state, [&] { place.is_old_code = is_old_code(start.frame.pc != 0 ? start.frame.pc : start.left.pc); });
}

}  // namespace

StackPlace read_stack(ReaderState& state, JNIEnv* jni, const char* java_thread, void* ucontext,
                      uint32_t target) noexcept {
  StackPlace place;
  const bool is_off = state.faults >= kFaultsOfThread || reader.faults.load(std::memory_order_relaxed) >= kFaultsOfAll;
  if (jni == nullptr || reader.get_call_trace == nullptr || is_off) return place;
  CallTrace trace{jni, 0, nullptr};
  read_all(state, trace, ucontext, target, place);
  if (place.is_read) {
    guarded(state, [&] { place.is_old_code = is_old_code(program_counter(ucontext)); });
  } else if (place.refused != 0 && place.refused != kCollecting) {
    read_from_java_frame(state, trace, java_thread, ucontext, target, place);
  }
  if (place.refused != 0) {
    reader.refused[static_cast<size_t>(place.refused)].fetch_add(1, std::memory_order_relaxed);
  }
  return place;
}

ReaderHealth reader_health() noexcept {
  ReaderHealth health;
  health.faults = reader.faults.load(std::memory_order_relaxed);
  for (size_t i = 0; i < health.refused.size(); ++i) {
    health.refused[i] = reader.refused[i].load(std::memory_order_relaxed);
  }
  health.found_frames = reader.found_frames.load(std::memory_order_relaxed);
  health.is_given_up = health.faults >= kFaultsOfAll;
  health.threads_given_up = reader.threads_given_up.load(std::memory_order_relaxed);
  return health;
}

}  // namespace headway::agent::causal
