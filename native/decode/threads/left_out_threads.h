// The threads that a recording leaves out because a program started more than it may have.
#pragma once

#include <cstdint>

namespace headway {

// Threads beyond those that a recording may have. Scheduling records of theirs are nobody's.
struct LeftOutThreads {
  uint64_t births = 0;
  int64_t first_ns = INT64_MAX;  // the first of their births
  int64_t last_ns = -1;          // until none of them is there any more, or the end of the records
};

}  // namespace headway
