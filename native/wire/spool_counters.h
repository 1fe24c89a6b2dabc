// How many counters each switch of a file of scheduling records was read of (hw_spool_header), and in how many groups.
#pragma once

#include <cstdint>

namespace headway {

struct SpoolCounters {
  uint16_t counters = 0;
  uint16_t groups = 0;

  bool operator==(const SpoolCounters&) const = default;
};

}  // namespace headway
