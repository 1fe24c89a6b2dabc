// Puts the records of all sources in order of time: a small reorder window within each file (an interrupt may write its
// record between another's clock reading and its place in the ring), then a k-way merge. Memory does not grow with
// length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/reading/record_reader.h"
#include "decode/scheduling/event.h"
#include "decode/threads/lifecycle.h"
#include "wire/spool_counters.h"

namespace headway {

// How many counters the switches of a file were read of; nothing where its header can't be right.
SpoolCounters counted_by(const RecordReader& reader);

// One file of scheduling records, put in order of time within a small window.
class SchedSource {
 public:
  // `losses` collects the losses found on the way. `counted`: what the recording was counted with; a file that says anything
  // else of itself has no counts.
  SchedSource(const std::string& path, std::vector<LossSpan>* losses, SpoolCounters counted = {});

  // The next event in order of time, or nullptr at the end; valid until pop().
  const Event* peek() const { return at_ < safe_ ? &events_[at_] : nullptr; }
  void pop() {
    if (++at_ >= safe_) refill();
  }
  bool is_perf() const { return reader_.header().producer == HW_PRODUCER_PERF_SWITCH; }
  int cpu() const { return cpu_; }
  const RecordReader& reader() const { return reader_; }
  uint64_t late() const { return late_; }

 private:
  void refill();
  bool convert(const hw_record* record, Event* out);
  void keep_counts(const hw_record* record, size_t at, Event* out);

  RecordReader reader_;
  std::vector<LossSpan>* losses_;
  std::vector<Event> events_;
  size_t at_ = 0, safe_ = 0;  // events_[at_..safe_) are in their final order
  int cpu_ = -1;
  int64_t last_ns_ = INT64_MIN;
  uint64_t late_ = 0;  // records that came so late that their time had to be moved
  bool at_end_ = false;
  size_t count_words_ = 0;                     // of each counted record
  std::vector<uint64_t> counts_, old_counts_;  // of events_, and of those before the last refill
};

// All files together, in order of time.
class Merge {
 public:
  Merge(std::vector<std::unique_ptr<SchedSource>> sources, const std::vector<LifeEvent>& life);

  // Calls handle(event) for each event in order of time while it returns true. Returns false at the end.
  template <typename Handle>
  bool run(Handle handle);

  const std::vector<std::unique_ptr<SchedSource>>& sources() const { return sources_; }

 private:
  struct Head {
    int64_t ts_ns;
    uint32_t source;  // 0: life; i: sources_[i - 1]
    bool operator>(const Head& other) const {
      return ts_ns != other.ts_ns ? ts_ns > other.ts_ns : source > other.source;
    }
  };
  void sink_top();  // puts heads_[0], whose time grew, where it belongs

  std::vector<std::unique_ptr<SchedSource>> sources_;
  const std::vector<LifeEvent>& life_;
  size_t next_life_ = 0;
  std::vector<Head> heads_;  // a heap, the earliest first
};

template <typename Handle>
bool Merge::run(Handle handle) {
  while (!heads_.empty()) {
    Head& top = heads_[0];
    bool go_on, more;
    if (top.source == 0) {
      const LifeEvent& life = life_[next_life_];
      go_on = handle(Event{life.ts_ns, 0, 0, static_cast<uint32_t>(next_life_), 0, 0, -1, EventType::kLife});
      more = ++next_life_ < life_.size();
      if (more) top.ts_ns = life_[next_life_].ts_ns;
    } else {
      SchedSource& source = *sources_[top.source - 1];
      go_on = handle(*source.peek());
      source.pop();
      const Event* next = source.peek();
      more = next != nullptr;
      if (more) top.ts_ns = next->ts_ns;
    }
    if (!more) {
      top = heads_.back();
      heads_.pop_back();
    }
    sink_top();
    if (!go_on) return true;
  }
  return false;
}

}  // namespace headway
