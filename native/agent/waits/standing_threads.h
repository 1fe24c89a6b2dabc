// Stacks of threads that are blocked in no recorded wait: in native code, asleep, or since before the agent came.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace headway::agent {

// Used by one thread at a time.
class StandingThreads {
 public:
  // Takes the stack of each platform thread that stands in something in which it was not seen before, and writes it
  // down. A thread in that state is not stopped by that. Of the threads that are new since the last look, a few at a
  // time.
  void look(JNIEnv* jni);

 private:
  std::unordered_set<uint64_t> seen_;  // java id and hw_standing_in
  bool has_looked_ = false;
};

}  // namespace headway::agent
