// Threads and stacks of a JVM that is being recorded, for the rows of its live table: out of its agent's file, read
// while the agent goes on writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decode/lock_records/lock_records.h"
#include "decode/reading/by_id.h"
#include "wire/records.h"

namespace headway {

// What has been read so far of one agent's file; each call reads what is new.
class LiveRecords {
 public:
  struct Frame {
    std::string_view class_name, method;
    int32_t line;  // -1: native, -2: unknown
  };

  // Takes what has been written since the last call; single blocks and holds are passed over. Reads the chunks that
  // were not there yet whole, and of those that may still grow their heads and what is new. False: this is no agent's
  // file, or that of another JVM than `pid` (as the JVM itself sees it).
  bool read(int fd, uint32_t pid);

  // Whether a blocker's record and the stack of its first event have been read; `stack_id` 0: it has none.
  bool knows(uint32_t blocker_id, uint32_t stack_id) const;
  // Whether a stack has been read, and the names of all its methods: their records may come after it.
  bool knows_stack(uint32_t stack_id) const;
  // Of a blocker's first event. False: neither its record nor that of a platform thread names it.
  bool first_thread(uint32_t blocker_id, uint32_t java_id, std::string_view* name) const;
  // Innermost first, as many as an agent keeps, with the begins of long names; none of a stack that is not known.
  std::vector<Frame> frames(uint32_t stack_id) const;
  // Java's property java.version; empty while it is not known.
  std::string_view java_version() const;

 private:
  struct OpenChunk {
    uint32_t chunk, taken;  // its place in the file, and the bytes of it that have been read
  };

  bool may_grow(const OpenChunk& open) const;
  void read_on(int fd);
  void read_new(int fd, uint64_t end);
  uint32_t take_records(const char* records, size_t bytes);
  void take(const hw_record* record);
  void on_thread(const hw_record* record);
  void on_fact(const hw_record* record);

  LockRecords records_;
  std::unordered_map<uint32_t, uint32_t> thread_names_;  // in LockRecords::texts, by Java id
  ById<uint32_t> stack_at_;                              // place + 1 in LockRecords::stacks
  uint32_t java_version_ = 0;                            // in LockRecords::texts
  uint32_t chunk_bytes_ = 0;                             // 0: nothing has been read
  uint32_t chunks_ = 0;                                  // that have been read, from the file's begin on
  std::vector<OpenChunk> open_;                          // those of them that may grow
  std::vector<uint64_t> buffer_;
};

}  // namespace headway
