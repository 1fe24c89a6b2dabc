// A thread of the agent's own that writes sums which threads of the program count in memory: those that have changed, once
// a second or, where there are many, less often, so that a JVM that is killed leaves what was there a moment ago.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdint>

#include "agent/jvm/raw_monitor.h"

namespace headway::agent {

// What the thread is to do. All are called on it.
struct SumsTasks {
  int64_t (*write)() = nullptr;               // writes what has changed; returns how many bytes
  void (*end_silenced)() noexcept = nullptr;  // the recorder has asked for silence by the word in the file
  void (*begins)() = nullptr;                 // first of all; may be null
  void (*ends)(JNIEnv* jni) = nullptr;        // last of all; may be null
};

// One kind of sums, and whether it is being counted. Never destroyed.
class SumsWriter {
 public:
  explicit SumsWriter(const char* name) : name_(name) {}

  // Makes the monitor; not null: what is in the way.
  const char* prepare();
  // Counting is on from now on, and the thread runs. False: the JVM gives none.
  bool start(JNIEnv* jni, const SumsTasks& tasks);
  bool is_on() const { return active_.load(); }
  bool is_likely_on() const { return active_.load(std::memory_order_relaxed); }
  // Counting is off from now on; true: it was on. The thread ends soon.
  bool end() { return active_.exchange(false); }
  // Calls write() while the thread writes nothing, and wakes it.
  template <typename Write>
  void write_last(Write write) {
    const Locked locked(monitor_);
    write();
    agent().jvmti->RawMonitorNotifyAll(monitor_);
  }

 private:
  static void JNICALL run(jvmtiEnv* jvmti, JNIEnv* jni, void* argument);
  void write_until_end(jvmtiEnv* jvmti, uint32_t generation);

  const char* name_;
  jrawMonitorID monitor_ = nullptr;
  SumsTasks tasks_{};
  std::atomic<bool> active_{false};
  std::atomic<uint32_t> generation_{0};  // counts recordings: a thread of an older one ends
};

}  // namespace headway::agent
