#include "agent/objects/window_timer.h"

#include <algorithm>
#include <random>

#include "agent/core/clock.h"
#include "agent/jvm/agent_thread.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr int64_t kMs = 1'000'000;

}  // namespace

const char* WindowTimer::start(JNIEnv* jni, int window_ms, int period_ms, const Tasks& tasks) {
  if (monitor_ == nullptr && agent().jvmti->CreateRawMonitor("headway windows", &monitor_) != JVMTI_ERROR_NONE) {
    return "the JVM gives no monitor";
  }
  tasks_ = tasks;
  window_ms_ = window_ms;
  period_ms_ = period_ms;
  is_on_ = true;
  jthread thread = new_headway_thread(jni);
  if (thread != nullptr &&
      agent().jvmti->RunAgentThread(thread, run, this, JVMTI_THREAD_MAX_PRIORITY) == JVMTI_ERROR_NONE) {
    return nullptr;
  }
  is_on_ = false;
  return "the JVM gives the agent no thread of its own";
}

void WindowTimer::end() {
  if (monitor_ == nullptr) return;
  const Locked locked(monitor_);
  is_on_ = false;
  agent().jvmti->RawMonitorNotifyAll(monitor_);
}

void JNICALL WindowTimer::run(jvmtiEnv*, JNIEnv* jni, void* argument) {
  static_cast<WindowTimer*>(argument)->call_at_edges(jni);
}

// False: there are to be no more edges. The monitor is entered for the wait alone: an edge retransforms a class, which calls
// whatever agents there are, and end() is called by the thread that ends the JVM.
bool WindowTimer::wait_until(int64_t ns) {
  const Locked locked(monitor_);
  while (is_on_) {
    const int64_t left_ns = ns - monotonic_ns();
    if (left_ns <= 0) return true;
    agent().jvmti->RawMonitorWait(monitor_, std::max<int64_t>(1, left_ns / kMs));
  }
  return false;
}

void WindowTimer::call_at_edges(JNIEnv* jni) {
  const int64_t start_ns = monotonic_ns(), window_ns = window_ms_ * kMs, period_ns = period_ms_ * kMs;
  const auto room_ns = static_cast<uint64_t>(std::max<int64_t>(1, period_ns - 3 * window_ns));
  std::mt19937_64 random(static_cast<uint64_t>(start_ns));
  if (!wait_until(start_ns + window_ns)) return;
  tasks_.end(jni);
  for (int64_t period = 0;; ++period) {
    // Where the machine has kept this thread from its CPU, whole periods may be over.
    period = std::max(period, (monotonic_ns() - start_ns) / period_ns);
    const int64_t since_ns = (period == 0 ? window_ns : 0) + static_cast<int64_t>(random() % room_ns);
    const int64_t look_ns = start_ns + period * period_ns + since_ns;
    if (!wait_until(look_ns)) return;
    tasks_.look();
    if (!wait_until(monotonic_ns() + window_ns)) return;
    tasks_.begin(jni);
    if (!wait_until(monotonic_ns() + window_ns)) return;
    tasks_.end(jni);
  }
}

}  // namespace headway::agent
