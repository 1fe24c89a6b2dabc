// The stack of the calling thread, read in a signal handler by HotSpot's AsyncGetCallTrace. A fault while it reads is
// caught and counted; the program goes on as if nothing had been.
#pragma once

#include <jni.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <cstdint>

#include "agent/causal/sampling/lines.h"
#include "agent/causal/sampling/stack_frame.h"

namespace headway::agent::causal {

// Of each thread, kept by sampling.
struct ReaderState {
  std::atomic<sigjmp_buf*> escape{nullptr};  // where a fault leads to, while it reads
  uint32_t faults = 0;
};

// Finds AsyncGetCallTrace and puts the guard in front of HotSpot's handlers; returns why not, or null. `find`: the
// state of the thread with that OS id, for the guard; may be called in a signal handler.
const char* prepare_reader(ReaderState* (*find)(uint32_t tid)) noexcept;
// From now on whole stacks of running threads are counted by their methods (callers.h), or no more.
void count_whole_stacks(bool on) noexcept;
// Takes the guard out, if nobody has put another handler in front of it.
void release_reader() noexcept;

// [signal] Where the signal met its thread; 0 on machines that we do not know.
uintptr_t program_counter(const void* ucontext) noexcept;

struct StackPlace {
  FramePlace frame;               // innermost frame in scope
  jmethodID innermost = nullptr;  // method, in scope or not; null: not known
  bool is_read = false;
  bool is_native = false;    // its innermost method is: it calls the system, or is about to
  bool in_target = false;    // `target` is among its frames
  bool is_old_code = false;  // in code that was compiled without lines between safepoints
  bool is_lent = false;      // looking for sections: what it holds it may have given back, to wait
  int refused = 0;           // AsyncGetCallTrace's code, positive
};
// [signal] `java_thread`: the thread's JavaThread, to find the Java caller of a stub or of a native function by its
// stack; null: not known, such samples stay unread.
StackPlace read_stack(ReaderState& state, JNIEnv* jni, const char* java_thread, void* ucontext,
                      uint32_t target) noexcept;

struct ReaderHealth {
  uint64_t faults = 0;
  std::array<uint64_t, 32> refused{};
  uint64_t found_frames = 0;      // stacks that were read from a Java frame that HotSpot had not found
  uint32_t threads_given_up = 0;  // whose stacks are not read any more: too many faults
  bool is_given_up = false;       // the same of all threads
};
ReaderHealth reader_health() noexcept;

}  // namespace headway::agent::causal
