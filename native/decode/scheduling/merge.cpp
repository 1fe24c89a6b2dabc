#include "decode/scheduling/merge.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headway {
namespace {

constexpr size_t kBlock = 8192;                // events decoded at once
constexpr size_t kReorderWindow = 1024;        // an event is at most so many places away from its own
constexpr int64_t kLatest = int64_t{1} << 61;  // beyond, a time is damage, and sums of times might overflow

bool earlier(const Event& a, const Event& b) { return a.ts_ns < b.ts_ns; }

}  // namespace

SchedSource::SchedSource(const std::string& path, std::vector<LossSpan>* losses, SpoolCounters counted)
    : reader_(path), losses_(losses) {
  const hw_u32 cpu = reader_.header().cpu;
  if (reader_.problem().empty() && cpu <= std::numeric_limits<int16_t>::max()) {
    cpu_ = static_cast<int>(cpu);
    if (counted_by(reader_) == counted) count_words_ = size_t{counted.counters} + counted.groups;
    events_.reserve(kBlock);
    refill();
  }
}

SpoolCounters counted_by(const RecordReader& reader) {
  const hw_spool_header& header = reader.header();
  if (!reader.problem().empty() || header.counters == 0 || header.counters > HW_COUNTERS ||
      header.counter_groups == 0 || header.counter_groups > HW_COUNTER_GROUPS ||
      header.counter_groups > header.counters) {
    return {};
  }
  return {header.counters, header.counter_groups};
}

// Copies the counts that begin `at` bytes into a record; refill() has made room for all of a block.
void SchedSource::keep_counts(const hw_record* record, size_t at, Event* out) {
  if (count_words_ == 0 || record->size != at + count_words_ * sizeof(uint64_t)) return;
  const size_t place = counts_.size();
  counts_.resize(place + count_words_);
  std::memcpy(&counts_[place], reinterpret_cast<const char*>(record) + at, count_words_ * sizeof(uint64_t));
  out->counts = &counts_[place];
}

bool SchedSource::convert(const hw_record* record, Event* out) {
  const auto cpu = static_cast<int16_t>(cpu_);
  switch (record->type) {
    case HW_SWITCH: {
      hw_switch r;
      if (!read_as(record, &r) || !is_id(r.head.tid) || !is_id(r.next_tid)) return false;
      *out = {r.head.ts_ns, r.prev_exec_ns, r.head.tid, r.next_tid, r.flags, r.prev_state, cpu, EventType::kSwitch};
      if ((r.flags & HW_SW_COUNTED) != 0) keep_counts(record, sizeof r, out);
      return true;
    }
    case HW_WAKING: {
      hw_waking r;
      if (!read_as(record, &r) || !is_id(r.head.tid) || !is_id(r.waker_tid)) return false;
      *out = {r.head.ts_ns, 0, r.head.tid, r.waker_tid, r.flags, 0, cpu, EventType::kWaking};
      return true;
    }
    case HW_COUNTS: {
      hw_counts r;
      if (!read_as(record, &r) || !is_id(r.head.tid)) return false;
      *out = {r.head.ts_ns, 0, r.head.tid, 0, 0, 0, cpu, EventType::kCounts};
      keep_counts(record, sizeof r, out);
      return out->counts != nullptr;
    }
    case HW_LOSS: {
      hw_loss r;
      if (!read_as(record, &r)) return false;
      losses_->push_back({"sched", cpu_, r.first_ns, r.last_ns, r.events});
      return false;
    }
    default:
      return false;  // of a newer writer
  }
}

void SchedSource::refill() {
  events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(at_));
  at_ = 0;
  if (count_words_ != 0) {  // those of the events that are left move along; nothing moves while the block is filled
    counts_.swap(old_counts_);
    counts_.clear();
    counts_.reserve(kBlock * count_words_);
    for (Event& event : events_) {
      if (event.counts == nullptr) continue;
      counts_.insert(counts_.end(), event.counts, event.counts + count_words_);
      event.counts = &counts_[counts_.size() - count_words_];
    }
  }
  bool sorted = true;
  while (!at_end_ && events_.size() < kBlock) {
    const hw_record* record = reader_.next();
    if (record == nullptr) {
      at_end_ = true;
      break;
    }
    Event event;
    if (record->ts_ns < 0 || record->ts_ns > kLatest || !convert(record, &event)) continue;
    if (event.ts_ns < last_ns_) {
      event.ts_ns = last_ns_;
      ++late_;
    }
    sorted = sorted && (events_.empty() || events_.back().ts_ns <= event.ts_ns);
    events_.push_back(event);
  }
  if (!sorted) std::stable_sort(events_.begin(), events_.end(), earlier);
  safe_ = at_end_ ? events_.size() : events_.size() - kReorderWindow;
  if (safe_ > 0) last_ns_ = events_[safe_ - 1].ts_ns;
}

Merge::Merge(std::vector<std::unique_ptr<SchedSource>> sources, const std::vector<LifeEvent>& life)
    : sources_(std::move(sources)), life_(life) {
  if (!life_.empty()) heads_.push_back({life_[0].ts_ns, 0});
  for (uint32_t i = 0; i < sources_.size(); ++i) {
    if (const Event* event = sources_[i]->peek()) heads_.push_back({event->ts_ns, i + 1});
  }
  std::make_heap(heads_.begin(), heads_.end(), std::greater<>());
}

void Merge::sink_top() {
  size_t at = 0;
  while (true) {
    size_t child = 2 * at + 1;
    if (child >= heads_.size()) return;
    if (child + 1 < heads_.size() && heads_[child] > heads_[child + 1]) ++child;
    if (!(heads_[at] > heads_[child])) return;
    std::swap(heads_[at], heads_[child]);
    at = child;
  }
}

}  // namespace headway
