// Samples of threads that sleep: a thread of the agent's looks at them by the wall clock.
#pragma once

#include <jni.h>

#include <string>

namespace headway::agent::causal {

bool start_sleepers(JNIEnv* jni) noexcept;
void stop_sleepers() noexcept;
// Up to eight methods that most samples without a line in scope were in, as JSON strings with commas between them.
std::string out_of_scope_methods() noexcept;

}  // namespace headway::agent::causal
