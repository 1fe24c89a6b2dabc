// The births, names, execs and deaths of threads: small, so it is read whole before the scheduling records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decode/threads/left_out_threads.h"
#include "wire/records.h"

namespace headway {

// One thread from birth to death. Its index in Lifecycle::lives is its thread_id. Times are CLOCK_MONOTONIC ns.
struct ThreadLife {
  uint32_t pid = 0;
  uint32_t tid = 0;     // the last one: a thread that calls execve takes over its leader's
  uint32_t ns_tid = 0;  // in its own pid namespace
  uint32_t parent_tid = 0;
  uint32_t parent_pid = 0;
  uint32_t exit_code = 0;
  int64_t start_ns = 0;           // task_struct.start_time: identity
  int64_t birth_ns = 0;           // records of this tid mean this thread from here on
  int64_t end_ns = -1;            // its exit record; -1: none
  int64_t exit_exec_ns = -1;      // executed until then
  int64_t first_exec_at_ns = -1;  // its first execve
  int64_t snapshot_exec_ns = 0;
  uint32_t snapshot_state = 0;  // of /proc, 0 for threads whose birth was seen
  bool from_snapshot = false;
  char comm[HW_COMM_BYTES] = {};
};

// A lifecycle record with the thread it means, in order of time.
struct LifeEvent {
  enum class Type : uint8_t { kBirth, kState, kExit, kExec, kTotals };
  int64_t ts_ns;
  Type type;
  uint32_t thread;        // index into lives
  uint32_t tid;           // the tid that means this thread from now on
  uint32_t old_tid;       // kExec: the tid that does no longer
  uint64_t exec_ns;       // kState, kExit, kTotals
  uint64_t run_delay_ns;  // kTotals
};

struct LossSpan {
  std::string source;
  int32_t cpu;
  int64_t first_ns, last_ns;
  uint64_t events;
};

struct Lifecycle {
  std::vector<ThreadLife> lives;  // in order of start_ns
  std::vector<LifeEvent> events;  // in order of ts_ns
  std::vector<LossSpan> losses;   // a span of threads that are left out is among them
  LeftOutThreads left_out;
  uint64_t unmatched = 0;  // exits, renames and execs of threads whose birth was lost
  std::string problem;     // why the file, or its rest, could not be read
};

// A program may start threads and processes without end; each is 1.3 kB of memory until it is a row, so these are 1.4 GB.
constexpr size_t kMostLives = size_t{1} << 20;

// Reads `spool_dir`/lifecycle.spool; a missing or damaged file gives what could be read, and its problem. Of more than
// `most_lives` threads the first are read, of each process that ran when the recording began a fair share.
Lifecycle read_lifecycle(const std::string& spool_dir, size_t most_lives = kMostLives);

}  // namespace headway
