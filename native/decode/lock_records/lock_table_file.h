// Reads locks-<pid>.table, the exact sums per blocker that an agent kept (native/wire/records.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decode/reading/record_room.h"
#include "wire/records.h"

namespace headway {

struct LockTableFile {
  std::string path;
  bool found = false;
  std::string problem;  // why it, or its rest, was not read
  bool is_cut = false;  // somebody has cut it off: then none of its sums are believed
  hw_lock_header header{};
  std::vector<std::string> classes;
  std::vector<hw_lock_slot> slots;  // those in use

  // The class of a slot; empty where the file has no such name.
  const std::string& class_of(const hw_lock_slot& slot) const;
};

// A table whose rows there is no `room` for is not read.
LockTableFile read_lock_table(const std::string& path, RecordRoom* room);

}  // namespace headway
