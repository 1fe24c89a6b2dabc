// A locks-<pid>.table as an agent would leave it.
#pragma once

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "wire/records.h"

namespace headway {

struct LockTableBytes {
  hw_lock_header header{};
  std::vector<hw_lock_slot> slots;  // from slot 1 on

  LockTableBytes() {
    std::memcpy(header.magic, HW_LOCK_MAGIC, sizeof header.magic);
    header.version = HW_LOCK_VERSION;
    header.slot_bytes = sizeof(hw_lock_slot);
  }

  std::vector<char> bytes() const {
    std::vector<char> all(4096 + size_t{HW_LOCK_CLASSES} * HW_LOCK_CLASS_BYTES + sizeof(hw_lock_slot));
    std::memcpy(all.data(), &header, sizeof header);
    std::memcpy(all.data() + 4096, "java.lang.Object", 16);
    const char* first = reinterpret_cast<const char*>(slots.data());
    all.insert(all.end(), first, first + slots.size() * sizeof(hw_lock_slot));
    return all;
  }

  void write(const std::string& path) const {
    const std::vector<char> all = bytes();
    std::ofstream(path, std::ios::binary).write(all.data(), static_cast<std::streamsize>(all.size()));
  }
};

}  // namespace headway
