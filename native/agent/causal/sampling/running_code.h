// Names the code at an address: compiled code, a stub of the JVM, a library, a system call. Samples whose stacks could
// not be read are counted by it, so that a recording can say what it is blind to.
#pragma once

#include <jni.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/hotspot/code_cache.h"
#include "agent/hotspot/stub_frames.h"

namespace headway::agent::causal {

// Looks at the code cache and the libraries; forgets what was counted. Not in a signal handler.
void prepare_running_code() noexcept;
// Libraries that came since. Not in a signal handler.
void look_for_libraries() noexcept;
// JVMTI's DynamicCodeGenerated: a stub, with its name. Any thread.
void note_stub(std::string_view name, uintptr_t begin, uintptr_t bytes) noexcept;

// [signal]
const CodeMap& running_code() noexcept;
// [signal] The stack of a JavaThread; empty: not known.
StackBounds stack_bounds(const char* java_thread) noexcept;
// [signal] Where a JavaThread left Java code; sp 0: it did not, or this is not known.
LeftFrame frame_left(const char* java_thread) noexcept;
// [signal] Has the calling thread's stack walked from there.
void set_frame_left(const char* java_thread, LeftFrame left) noexcept;
Machine this_machine() noexcept;  // [signal]

// [signal] A sample without a stack. `refused`: AsyncGetCallTrace's code, positive; 0: it was not asked, or it faulted.
void count_unread(uintptr_t pc, int refused, int64_t ns) noexcept;
// {"stub sha256_implCompressMB":12000000, ...}, of what was counted, in nanoseconds; the members alone.
std::string unread_members() noexcept;

// Compiled code that is there now was compiled without lines between safepoints.
void remember_old_code() noexcept;
// [signal] Whether that address lies in such code.
bool is_old_code(uintptr_t pc) noexcept;

}  // namespace headway::agent::causal
