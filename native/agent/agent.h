// The agent's state and the records it writes. One recording at a time per JVM; a later attach replaces an ended one.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/chunk_file.h"
#include "agent/hotspot.h"
#include "agent/options.h"

namespace headway::agent {

// Never destroyed: callbacks may run until the process ends.
struct Agent {
  JavaVM* vm = nullptr;
  jvmtiEnv* jvmti = nullptr;
  HotSpot hotspot;
  Options options;
  jrawMonitorID ending = nullptr;         // held by who ends a recording
  std::atomic<ChunkFile*> file{nullptr};  // leaked once ended: other threads may still hold it
  int jdk_major = 0;
  bool attached = false;                 // came by the attach protocol, not by a launch option
  bool warning_hidden = false;           // JDK 21's warning about dynamic loading was kept out of the program's output
  std::atomic<uint32_t> collections{0};  // garbage collections that have finished
  int64_t load_ns = 0;                   // when the agent was loaded
  std::string main_class;                // from sun.java.command; empty when that names a jar
  jfieldID thread_eetop = nullptr;
  jfieldID thread_tid = nullptr;
};
Agent& agent();

int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) noexcept;

// The file records go to now, or nullptr when none are wanted.
inline ChunkFile* recording() noexcept {
  ChunkFile* file = agent().file.load(std::memory_order_acquire);
  return file != nullptr && file->recording() ? file : nullptr;
}

// --- blockers.cpp ---
ThreadSlot& this_thread() noexcept;

// --- records (records.cpp): each may be called on any thread; each does nothing when no records are wanted ---
struct ThreadFacts {
  uint32_t tid;  // OS thread
  uint64_t java_id;
  uint32_t flags;         // hw_thread_flags
  std::string_view name;  // modified UTF-8
  std::string_view group;
};
void write_thread_start(const ThreadFacts& facts, uint16_t type = HW_THREAD_START) noexcept;
void write_thread_end(uint64_t java_id, uint64_t cpu_ns, uint16_t type = HW_THREAD_END) noexcept;
void write_phase(hw_phase_kind kind, int64_t start_ns, std::string_view cause) noexcept;
void write_method(uint32_t method_id, std::string_view class_name, std::string_view name) noexcept;  // UTF-8
void write_stack(uint32_t stack_id, const hw_stack_frame* frames, uint16_t count, bool is_cut) noexcept;
void write_info(std::string_view key, std::string_view value) noexcept;

// --- threads.cpp ---
bool find_thread_fields(JNIEnv* jni) noexcept;
uint64_t java_thread_id(JNIEnv* jni, jthread thread) noexcept;
bool is_virtual_thread(JNIEnv* jni, jthread thread) noexcept;
void announce_thread(JNIEnv* jni, jthread thread) noexcept;     // the current one
void announce_last_name(JNIEnv* jni, jthread thread) noexcept;  // of the current one, if it was renamed
void announce_existing_threads(JNIEnv* jni, uint16_t type = HW_THREAD_START) noexcept;

// --- jvm_info.cpp ---
void write_jvm_info(JNIEnv* jni) noexcept;
int jdk_major_version(jvmtiEnv* jvmti) noexcept;

// --- care.cpp ---
// A java.lang.Thread called "headway" in the JVM's own thread group, for RunAgentThread; null when there is none.
jthread new_headway_thread(JNIEnv* jni) noexcept;

// --- events.cpp ---
bool enable_events(bool live) noexcept;  // `live`: the JVM runs already
void end_recording() noexcept;
void end_silenced() noexcept;  // the same, unless it is already the next recording, which is wanted
bool is_ending() noexcept;     // a thread is in end_recording
void vm_unloads() noexcept;

}  // namespace headway::agent
