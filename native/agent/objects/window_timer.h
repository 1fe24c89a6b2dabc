// A thread of the agent's own that begins and ends windows: one in each period, at a random place in it, so that nothing the
// program does regularly falls into all of them, or into none.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdint>

namespace headway::agent {

// Never destroyed.
class WindowTimer {
 public:
  struct Tasks {
    void (*look)() = nullptr;  // a window's length before it begins
    void (*begin)(JNIEnv*) = nullptr;
    void (*end)(JNIEnv*) = nullptr;
  };

  // The first window is open already. Not null: what is in the way.
  const char* start(JNIEnv* jni, int window_ms, int period_ms, const Tasks& tasks);
  // No further edge is begun, and the thread ends soon. Does not wait for an edge that goes on: other agents have their say
  // there, and one of them may hold it up for ever. Any thread, also where there is no timer.
  void end();
  // 0: there are no windows.
  int window_ms() const { return window_ms_; }

 private:
  static void JNICALL run(jvmtiEnv* jvmti, JNIEnv* jni, void* argument);
  void call_at_edges(JNIEnv* jni);
  bool wait_until(int64_t ns);

  jrawMonitorID monitor_ = nullptr;
  Tasks tasks_{};
  int window_ms_ = 0, period_ms_ = 0;
  bool is_on_ = false;  // under the monitor
};

}  // namespace headway::agent
