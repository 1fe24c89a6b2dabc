// What the CPUs' counters counted while a thread ran: the difference of what they stood at when it came and when it left.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/scheduling/event.h"
#include "wire/spool_counters.h"

namespace headway {

// What was counted from one time to another, one value per counter and then per group; empty: not known.
struct SpanCounts {
  int64_t from_ns = 0, to_ns = 0;
  std::vector<int64_t> values;

  // Whether that is what was counted in this slice: all but a thousandth of it, and no more than that of any other time.
  // Records that were lost, and readings that were never made, leave counts that are of another time than the slice.
  bool is_of(int64_t begin_ns, int64_t end_ns) const;
};

class SliceCounts {
 public:
  static constexpr int64_t kUnknown = -1;

  SliceCounts(SpoolCounters counted, int64_t start_ns, int64_t end_ns)
      : counted_(counted), start_ns_(start_ns), end_ns_(end_ns) {}

  bool is_counted() const { return counted_.counters != 0; }
  SpoolCounters counted() const { return counted_; }

  // Every switch and reading in order of time, before the thread's state changes by it. Those after the window's end, while
  // wants_more(): a thread that ran beyond it was counted until then.
  void on_event(const Event& event);
  bool wants_more() const;

  // Of the thread that the last event took from its CPU. Of a slice that reaches out of the window it is the share of time
  // that lies inside.
  const SpanCounts& left() const { return left_; }
  // Of a thread that still has a CPU at the window's end.
  const SpanCounts& still_running(uint32_t tid) const;

 private:
  struct Reading {
    uint32_t tid = 0;  // who has the CPU from then on; 0: none of ours
    int64_t ts_ns = 0;
    std::vector<uint64_t> counts;  // empty: not known
    uint32_t until_tid = 0;        // who has had the CPU since then until a later reading
    SpanCounts until;              // and what was counted by that
  };

  // What was counted between a reading and an event; false if it can't be.
  bool difference(const Reading& since, const Event& event, SpanCounts* out) const;

  SpoolCounters counted_;
  int64_t start_ns_, end_ns_;
  std::vector<Reading> cpus_;
  SpanCounts left_;
};

}  // namespace headway
