// Threads that were parked before the agent came: nobody saw their waits begin, and nobody may see them end.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <memory>
#include <vector>

#include "agent/waits/blockers.h"

namespace headway::agent {

class VirtualStates;

// Used by one thread at a time.
class ParkedThreads {
 public:
  // Waits go to this recording of locks, and to no later one.
  explicit ParkedThreads(LockRecording* recording);
  ~ParkedThreads();
  ParkedThreads(const ParkedThreads&) = delete;
  ParkedThreads& operator=(const ParkedThreads&) = delete;

  // Each platform thread that is parked gets a wait in progress that begins now.
  void note_platform_threads(JNIEnv* jni);
  // The same of virtual threads, which the JVM's list of threads does not have: the JDK's own (jdk.internal.vm) does.
  // Runs Java code.
  void note_virtual_threads(JNIEnv* jni);
  // Ends the waits of those that go on without having been woken: after a time limit, or interrupted.
  void look(JNIEnv* jni);
  void let_go(JNIEnv* jni);

 private:
  struct Seen {
    jweak thread;
    Waiting* waiting;
    bool is_virtual;
  };
  bool is_over(JNIEnv* jni, const Seen& seen) const;
  void keep(JNIEnv* jni, const Seen& seen);
  const char* note_each_virtual_thread(JNIEnv* jni);  // returns why some are missing; nullptr: none is

  LockRecording* recording_;
  std::vector<Seen> seen_;  // thread: a local reference until it is kept
  std::unique_ptr<VirtualStates> states_;
};

}  // namespace headway::agent
