// Replays a recording without some of its waits: how much earlier would a thread come to its end if they took no time,
// and all else went on as it was recorded?
//
// Each thread does what it did between its waits, as long as it did. A wait that another thread ended is over when that
// one comes to the same point of its own work; what nobody is known to have ended lasts as long as it lasted; of the
// waits of one group, nothing is left. A wait for a lock never lasts longer than it did: who comes earlier than the one
// that had it gets it first. So only one number is needed for each thread: how far it is ahead of the recording. Groups
// are replayed beside each other, each alone. Linear in events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headway {

enum class ReplayEvent : uint8_t {
  kWoken,  // `other` ends the wait that `thread` is in
  kEnded,  // a wait of `thread` is over, of `length_ns`, of `group` (-1: none); other: -1 if nobody is known to have
           // ended it
  kBorn,   // `other` starts `thread`
  kGot,  // as kEnded, of a wait for a lock that `other` had: who would come earlier than that one had it gets it first
};

// In order of time; of one moment in the order of ReplayEvent.
struct ReplayColumns {
  size_t rows = 0;
  const uint8_t* what = nullptr;
  const int32_t* thread = nullptr;
  const int32_t* other = nullptr;
  const int64_t* length_ns = nullptr;
  const int32_t* group = nullptr;
};

// Returns by thread of `last`, and of each by group, how far it is ahead at the end. Rows of threads that are not below `threads` are left out, and
// so are groups that are not below `groups`.
std::vector<int64_t> replayed(const ReplayColumns& events, size_t threads, size_t groups,
                              const std::vector<size_t>& last);

}  // namespace headway
