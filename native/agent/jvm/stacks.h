// Java stacks as numbers: each different stack is written once, and then named by its number.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>
#include <string_view>

namespace headway::agent {

// What the Java name of the hook class begins with (a digit follows): its frames are left out of stacks.
inline constexpr std::string_view kHookClass = "jdk.internal.misc.HeadwayHook";

// Numbers the calling thread's Java stack (platform or virtual), without headway's frames, writing HW_METHOD and
// HW_STACK records for what is new. 0: none could be taken. Costs microseconds: its callers decide how often.
uint32_t take_stack(JNIEnv* jni) noexcept;
// The same of another platform thread that waits, sleeps or is in native code: the JVM need not stop it for that. What
// it runs may be unloaded meanwhile, then the JVM does not tell the method and 0 is returned.
uint32_t take_stack_of(JNIEnv* jni, jthread thread) noexcept;
// The innermost frame of the calling thread alone, as a stack of its own: a fraction of what a whole one costs.
uint32_t take_innermost_frame(JNIEnv* jni) noexcept;
// Each call of start_stacks that is not false is followed by one of end_stacks; several parts of the agent may take stacks.
bool start_stacks(JNIEnv* jni) noexcept;
void end_stacks() noexcept;

// How many stacks found no number any more, and how often none could be taken, since start_stacks.
struct StackLosses {
  uint64_t unnumbered;
  uint64_t failed;
};
StackLosses stack_losses() noexcept;

}  // namespace headway::agent
