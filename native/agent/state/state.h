// What the agent knows of the JVM that it is in, and of the recording it was asked for: the one object of its kind,
// agent(). One recording at a time per JVM; a later attach replaces an ended one.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "agent/core/chunk_file.h"
#include "agent/core/options.h"
#include "agent/core/recording_directory.h"
#include "agent/hotspot/hotspot.h"

namespace headway::agent {

// The agent's state in this process. Never destroyed: callbacks may run until the process ends.
struct Agent {
  JavaVM* vm = nullptr;
  jvmtiEnv* jvmti = nullptr;
  HotSpot hotspot;
  Options options;
  RecordingDirectory directory;    // of the recording, where it is named by a descriptor; the next one takes its place
  jrawMonitorID ending = nullptr;  // entered by the thread that ends a recording
  std::atomic<ChunkFile*> file{nullptr};  // leaked once ended: other threads may still write in it
  int jdk_major = 0;
  bool attached = false;                 // came by the attach protocol, not by a launch option
  bool warning_hidden = false;           // JDK 21's warning about dynamic loading was kept out of the program's output
  std::atomic<uint32_t> collections{0};  // garbage collections that have finished
  std::atomic<bool> is_collecting{false};  // from the start of a pause to its end
  int64_t load_ns = 0;                     // when the agent was loaded
  std::string main_class;                  // from sun.java.command; empty when that names a jar
  jfieldID thread_eetop = nullptr;         // java.lang.Thread.eetop: the address of HotSpot's JavaThread
  jfieldID thread_tid = nullptr;           // java.lang.Thread.tid: the Java id
};
Agent& agent();

// The file records go to now, or nullptr when none are wanted.
inline ChunkFile* recording() noexcept {
  ChunkFile* file = agent().file.load(std::memory_order_acquire);
  return file != nullptr && file->recording() ? file : nullptr;
}

}  // namespace headway::agent
