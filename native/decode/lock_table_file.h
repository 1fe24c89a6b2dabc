// Reads locks-<pid>.table, the exact sums per blocker that an agent kept (native/wire/records.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/records.h"

namespace headway {

struct LockTableFile {
  std::string path;
  bool found = false;
  std::string problem;  // why it, or its rest, was not read
  hw_lock_header header{};
  std::vector<std::string> classes;
  std::vector<hw_lock_slot> slots;  // those in use

  // The class of a slot; empty where the file has no such name.
  const std::string& class_of(const hw_lock_slot& slot) const;
};

LockTableFile read_lock_table(const std::string& path);

}  // namespace headway
