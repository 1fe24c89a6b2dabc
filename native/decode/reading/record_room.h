// How much memory what one agent's file says may take, so that the file of one JVM costs no other's records.
#pragma once

#include <cstdint>

namespace headway {

// Memory that records take from as they are kept: their tables, and Python's rows on the way there.
class RecordRoom {
 public:
  explicit RecordRoom(uint64_t bytes) : left_(bytes) {}

  // Takes so many bytes; false where there are not so many left, and from then on.
  bool take(uint64_t bytes) {
    if (bytes > left_) {
      left_ = 0;
      return false;
    }
    left_ -= bytes;
    return true;
  }
  uint64_t left() const { return left_; }

 private:
  uint64_t left_;
};

}  // namespace headway
