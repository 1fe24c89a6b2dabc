// Tries groups of events on this very thread: opens each, runs a loop that is known to make its events count, and reads
// them twice. An event that opens need not count: virtual machines and some processors offer events that read zero.
#pragma once

#include <cstdint>
#include <vector>

#include "counters/event.h"

namespace headway {

// What the loop does, by the events that it is to make count.
enum Exercise : uint32_t {
  kArithmetic = 1,  // cycles, instructions, branches, some of which are mispredicted
  kMemory = 2,      // reads all over a buffer that no cache and no translation buffer holds
  kFaults = 4,      // touches new pages
  kSleep = 8,       // gives the CPU away
  kMigrate = 16,    // moves to another CPU and back, where there is one
};

struct TriedEvent {
  int reason = 0;       // errno of opening or reading it; 0: none
  uint64_t first = 0;   // counted in the first run of the loop
  uint64_t second = 0;  // and in the same loop once more
  uint64_t enabled_ns = 0, running_ns = 0;
};

// One result per event, group by group. Of a group in which one can't be opened the others are not tried: their reason is
// ECANCELED.
std::vector<std::vector<TriedEvent>> try_groups(const std::vector<CounterGroup>& groups);

}  // namespace headway
