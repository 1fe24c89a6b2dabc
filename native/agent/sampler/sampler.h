// Stack samples: async-profiler, loaded into the JVM beside the agent (docs/decisions/0006-sampling.md).
//
//   sample-NAME.jfr.part   its records; NAME is that of agent-NAME.spool. Renamed to sample-NAME.jfr once complete
//   sample-NAME.txt        what came of it, a line `key value` each; locked while samples are being taken
//
// Whatever goes wrong, the JVM goes on without samples and nothing is printed: the text file says why.
#pragma once

#include <jni.h>

namespace headway::agent {

// Starts sampling when the options ask for it. Live phase only; waits until it has begun, for some seconds at most.
void begin_sampling(JNIEnv* jni) noexcept;

// Asks the sampler's own thread to end; returns at once.
void wake_sampler() noexcept;

// Ends sampling and completes the file. Idempotent; also at VM death.
void end_sampling() noexcept;

}  // namespace headway::agent
