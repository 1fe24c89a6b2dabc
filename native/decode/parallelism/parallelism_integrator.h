// How many threads were active and running at each time, by kind: one pass over every change of state in order of time
// gives how long each combination of counts held, and what that means for each thread.
//
// Activity rows are exact sums inside time bins: bounded, whatever the number of changes. When there are too many rows,
// the bins become twice as wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "wire/thread_kinds.h"

namespace headway {

constexpr uint8_t kNotCounted = 255;  // headway's own threads, or those that were not selected

enum class Level : uint8_t { kIdle, kRunnable, kRunning };

struct Levels {
  uint32_t active[kKinds] = {};
  uint32_t running[kKinds] = {};
  bool operator==(const Levels&) const = default;
};

struct ActivityRow {
  int64_t bin_start_ns = 0;
  int64_t dur_ns = 0;
  int64_t stolen_ns = 0;
  Levels levels;
};

// What the pass knows of one thread when it is done.
struct ThreadParallelism {
  int64_t active_ns = 0;
  int64_t active_while_running = 0;  // integral of the number of active threads over the time this one ran
  double height_ns = 0;              // integral of dt / active threads over the time this one was active
  // Of the time that it ran, or was active, as much counts as another kind than the thread's.
  int64_t other_kind_running_ns = 0;
  int64_t other_kind_active_ns = 0;
  // While the pass goes on:
  double height_before = 0;
  int64_t integral_before = 0;
  int64_t active_since_ns = 0;
  int64_t running_since_ns = 0;
  uint64_t first_segment = 0;
  int64_t kind_since_ns = 0;  // running or active as the present kind, since
  uint32_t place_in_running = 0;
  Level level = Level::kIdle;
};

// When a thread counts as another kind than its own: a VM thread that collects garbage (Serial GC has no threads for
// it).
struct KindSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;
  uint8_t kind = 0;
};

struct ParallelismOptions {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t bin_ns = 1;         // width of a bin
  int64_t bin_origin_ns = 0;  // a bin begins here; may lie before start_ns
  size_t max_rows = 1 << 17;
};

// Integrates the numbers of active and running threads over time, by kind of thread.
class ParallelismIntegrator {
 public:
  // kinds[thread] is 0..kKinds-1 or kNotCounted; threads beyond it count as application threads. Those of `spans` that
  // are one thread's do not overlap; a thread that is not counted stays so.
  ParallelismIntegrator(const ParallelismOptions& options, std::vector<uint8_t> kinds,
                        const std::vector<KindSpan>& spans = {});

  // The thread changes to `to` at ts_ns (not before the previous change; earlier than start_ns means at start_ns).
  // stolen_ns, when it stops running: what the host took of its running time.
  void change(int64_t ts_ns, uint32_t thread, Level to, int64_t stolen_ns = 0);
  // Lets the last levels hold until the end of the window, and keeps to `max_rows` (0: as in the options).
  void finish(size_t max_rows = 0);

  const std::vector<ActivityRow>& rows() const { return rows_; }
  const std::vector<ThreadParallelism>& threads() const { return threads_; }
  int64_t bin_ns() const { return options_.bin_ns; }
  uint64_t changes() const { return changes_; }

 private:
  struct KindChange {
    int64_t ts_ns;
    uint32_t thread;
    bool begins;
    uint8_t kind;  // where one begins
  };
  struct Segment {
    uint32_t row;
    int64_t dur_ns;
  };
  void advance(int64_t ts_ns);
  void advance_levels(int64_t ts_ns);
  void change_kind(uint32_t thread, uint8_t kind);
  void settle_kind(uint32_t thread, ThreadParallelism* t);
  void enter_bin(int64_t ts_ns);
  uint32_t find_row();
  void push_segment(uint32_t row, int64_t dur_ns);
  void fold_segments();
  void attribute(uint32_t thread, const ThreadParallelism& t, int64_t stolen_ns);
  void widen_bins();
  void grow_index();

  ParallelismOptions options_;
  std::vector<uint8_t> kinds_;  // at present
  std::vector<uint8_t> own_kinds_;
  std::vector<KindChange> kind_changes_;
  size_t next_kind_change_ = 0;
  std::vector<ThreadParallelism> threads_;
  std::vector<ActivityRow> rows_;
  Levels now_levels_;
  int64_t active_ = 0;
  int64_t now_ns_;
  int64_t bin_start_ns_ = 0, bin_end_ns_ = 0;
  int64_t integral_ = 0;  // of the number of active threads
  double height_ = 0;     // integral of dt / active threads
  uint32_t row_ = 0;
  bool is_dirty_ = true;  // row_ is not that of now_levels_
  uint64_t changes_ = 0;
  // Rows of the present bin by their levels: open addressing; a slot holds row + 1 and counts only in its own bin.
  std::vector<uint32_t> index_;
  size_t bin_first_row_ = 0;
  // The last stretches of constant levels, so that stolen time finds the rows it belongs to.
  std::vector<Segment> segments_;
  uint64_t next_segment_ = 0;
  std::vector<uint32_t> running_;  // threads on a CPU
  // For threads that run for longer than `segments_` remembers: time by row.
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, int64_t>> folded_;
};

}  // namespace headway
