// What the agents in the JVMs wrote: threads with their Java names, phases, and what each JVM says about itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decode/lock_records/lock_records.h"
#include "decode/objects/access_records.h"
#include "decode/objects/allocation_records.h"
#include "decode/objects/line_records.h"
#include "decode/objects/node_records.h"
#include "decode/reading/record_room.h"
#include "wire/records.h"

namespace headway {

struct JavaThread {
  uint32_t tid;  // in the JVM's pid namespace
  int64_t start_ns;
  int64_t end_ns = -1;  // -1: alive at the end
  int64_t cpu_ns = -1;  // CLOCK_THREAD_CPUTIME_ID at its end
  uint64_t java_id;
  uint32_t flags;           // hw_thread_flags
  std::string name, group;  // as written: not necessarily UTF-8
};

struct JvmPhase {
  int64_t start_ns, end_ns;
  uint32_t kind;  // hw_phase_kind
  std::string cause;
};

struct JvmFact {
  int64_t ts_ns;
  std::string key, value;
};

// When a carrier had a virtual thread.
struct Mount {
  int64_t start_ns;
  int64_t end_ns;    // -1: not seen to end
  uint64_t java_id;  // of the virtual thread
  uint32_t tid;      // of the carrier, in the JVM's pid namespace
};

struct AgentFile {
  std::string path;
  std::string problem;
  bool is_cut = false;  // somebody has cut it off, while it was written or later
  uint32_t pid = 0;     // of the JVM, in its own pid namespace
  uint64_t lost = 0;
  int64_t created_ns = 0;
  int64_t last_ns = 0;
  uint64_t virtual_threads = 0;
  std::vector<JavaThread> threads;
  std::vector<JvmPhase> phases;
  std::vector<Mount> mounts;  // by carrier, in order of time
  std::vector<JvmFact> facts;
  AllocationRecords allocations;
  AccessRecords accesses;
  LineRecords lines;
  NodeRecords nodes;
};

// Reads one agent-<pid>.spool; a damaged one gives what could be read. Its records of locks go into `locks`. What there
// is no `room` for is lost, and counted.
AgentFile read_agent_file(const std::string& path, LockRecords* locks, RecordRoom* room);

}  // namespace headway
