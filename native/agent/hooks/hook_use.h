// Who uses the hooks in the JDK, the recording of locks or causal profiling: each turns them on and off for itself.
#pragma once

#include <cstdint>

namespace headway::agent {

enum class HookUse : uint8_t { kLocks = 1, kCausal = 2 };  // the recording of locks, the causal profiler; maybe both

}  // namespace headway::agent
