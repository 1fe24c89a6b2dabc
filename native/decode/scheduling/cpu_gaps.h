// The rows of the table `cpu_gap`: when a CPU ran none of ours, and how long others ran there meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/scheduling/event.h"

namespace headway {

struct CpuGap {
  int64_t start_ns;
  int64_t dur_ns;
  int64_t other_ns;
  int16_t cpu;
};

// Collects the rows while scheduling records pass by in order of time.
class CpuGaps {
 public:
  CpuGaps(int64_t start_ns, int64_t end_ns) : start_ns_(start_ns), end_ns_(end_ns) {}

  // The records of this CPU begin at `ns`: what the first of them tells of others began there.
  void begins(int cpu, int64_t ns);
  // Every switch in order of time, also those after the window's end while wants_more(). Returns false for one that
  // tells of others alone.
  bool on_switch(const Event& event);
  // Whether a stretch of others reaches beyond the window's end: how long they ran in it a later record tells.
  bool wants_more() const;

  // Whether the collector reported others at all; if not, that there are no rows means nothing.
  bool is_known() const { return is_known_; }
  const std::vector<CpuGap>& rows() const { return rows_; }

 private:
  static constexpr int64_t kNone = INT64_MIN;
  void close(size_t cpu, int64_t ts_ns, int64_t other_ns);

  const int64_t start_ns_, end_ns_;
  bool is_known_ = false;
  std::vector<int64_t> since_;  // by CPU: when the last of ours left, or the last piece ended; kNone: one of ours runs
  std::vector<CpuGap> rows_;
};

}  // namespace headway
