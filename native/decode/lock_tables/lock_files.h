// One JVM's records of locks, and who its threads are in the recording.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "decode/lock_records/lock_records.h"
#include "decode/lock_records/lock_table_file.h"

namespace headway {

struct LockFile {
  std::string path;  // agent-<pid>.spool
  LockRecords records;
  LockTableFile table;  // locks-<pid>.table
};

constexpr int32_t kNoThread = -1;

// The threads of one JVM, as record/finalise/locks/lock_tables.py knows them once lives and Java threads are joined.
class JvmThreads {
 public:
  struct Life {
    uint32_t tid;  // in the JVM's pid namespace
    int64_t start_ns;
    int32_t thread_id;
  };
  struct Java {
    uint32_t java_id;
    int32_t thread_id;
  };

  JvmThreads(int32_t pid, int64_t close_ns, std::vector<Life> lives, std::vector<Java> java)
      : pid_(pid), close_ns_(close_ns), lives_(std::move(lives)), java_(std::move(java)) {
    std::sort(lives_.begin(), lives_.end(),
              [](const Life& a, const Life& b) { return std::tie(a.tid, a.start_ns) < std::tie(b.tid, b.start_ns); });
    std::sort(java_.begin(), java_.end(), [](const Java& a, const Java& b) { return a.java_id < b.java_id; });
  }

  int32_t pid() const { return pid_; }
  // When what is still open ends: the end of the recording, or of the process.
  int64_t close_ns() const { return close_ns_; }

  // The thread that had this tid at `ts_ns`.
  int32_t of_tid(uint32_t tid, int64_t ts_ns) const {
    constexpr int64_t kSlackNs = 50'000'000;  // /proc's start times are up to a clock tick late
    const auto after =
        std::upper_bound(lives_.begin(), lives_.end(), std::pair(tid, ts_ns), [](const auto& at, const Life& life) {
          return std::tie(at.first, at.second) < std::tie(life.tid, life.start_ns);
        });
    if (after != lives_.begin() && std::prev(after)->tid == tid) return std::prev(after)->thread_id;
    const bool is_late = after != lives_.end() && after->tid == tid && after->start_ns <= ts_ns + kSlackNs;
    return is_late ? after->thread_id : kNoThread;
  }
  int32_t of_java(uint32_t java_id) const {
    const auto found = std::lower_bound(java_.begin(), java_.end(), java_id,
                                        [](const Java& java, uint32_t id) { return java.java_id < id; });
    return java_id == 0 || found == java_.end() || found->java_id != java_id ? kNoThread : found->thread_id;
  }
  // The platform thread of a block; of a virtual thread there is none.
  int32_t of_block(const hw_block& block) const {
    if ((block.flags & HW_BL_VIRTUAL) != 0) return kNoThread;
    const int32_t thread = of_java(block.java_id);
    return thread != kNoThread ? thread : of_tid(block.head.tid, block.head.ts_ns);
  }

 private:
  int32_t pid_;
  int64_t close_ns_;
  std::vector<Life> lives_;
  std::vector<Java> java_;
};

}  // namespace headway
