// A sleep of a thread of the program, reported when it begins: in the faster line, it makes all others owe at once.
#pragma once

#include <cstdint>

#include "agent/causal/ledger/ledger.h"
#include "agent/causal/sampling/sample.h"

namespace headway::agent::causal {

// Of the calling thread, from before it begins to after it has ended; pays at both ends.
class ReportedSleep {
 public:
  explicit ReportedSleep(int64_t ns) noexcept;  // as the program asks for
  ~ReportedSleep();
  ReportedSleep(const ReportedSleep&) = delete;
  ReportedSleep& operator=(const ReportedSleep&) = delete;

 private:
  DelayAccount* account_ = nullptr;  // null: nothing was reported
  int64_t from_ns_ = 0;
  Sample sample_;
};

}  // namespace headway::agent::causal
