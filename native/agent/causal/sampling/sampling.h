// Sampling, on and off: signals that find each thread of the program in its line, running or asleep.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>
#include <string_view>

#include "agent/causal/ledger/ledger.h"
#include "agent/causal/sampling/sample.h"

namespace headway::agent::causal {

// From now on compiled code knows its lines everywhere, not at safepoints alone (-XX:+DebugNonSafepoints, unless the
// user set that): without them samples fall on the line of the next safepoint. From JVMTI's start phase on.
void compile_with_all_lines() noexcept;
// causal_spec() holds the period. What can't be had is said by problem().
bool start_sampling(JNIEnv* jni) noexcept;
void stop_sampling() noexcept;
// On the thread itself, when a wait of more than a millisecond ended by its time: a blocked sample of its whole length.
void timed_wait_ended(DelayAccount& account, int64_t waited_ns) noexcept;
// The calling thread waits for so long, where its stack says: not in a signal handler.
Sample waiting_sample(int64_t waited_ns) noexcept;
// A class was prepared: its methods' line tables are kept if the scope includes it. JVMTI's ClassPrepare.
void note_class(JNIEnv* jni, jclass type, std::string_view name) noexcept;

bool timers_are_perf() noexcept;
struct SamplingHealth {
  uint64_t samples = 0;
  uint64_t faults = 0;        // of reading a stack, caught
  uint64_t refused[32] = {};  // [i]: AsyncGetCallTrace said -i
  uint32_t threads_without_timer = 0;
  int64_t out_of_scope_ns = 0;
  int64_t unread_ns = 0;
  int64_t old_code_ns = 0;     // in scope, in code that was compiled without lines between safepoints
  bool has_all_lines = false;  // code that is compiled now has them
  uint64_t found_frames = 0;   // stacks that were read from a Java frame that HotSpot had not found
};
SamplingHealth sampling_health() noexcept;

}  // namespace headway::agent::causal
