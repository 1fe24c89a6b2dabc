#include "decode/merge.h"

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

SchedSource::SchedSource(const std::string& path, std::vector<LossSpan>* losses) : reader_(path), losses_(losses) {
  const hw_u32 cpu = reader_.header().cpu;
  if (reader_.problem().empty() && cpu <= std::numeric_limits<int16_t>::max()) {
    cpu_ = static_cast<int>(cpu);
    events_.reserve(kBlock);
    refill();
  }
}

bool SchedSource::convert(const hw_record* record, Event* out) {
  const auto cpu = static_cast<int16_t>(cpu_);
  switch (record->type) {
    case HW_SWITCH: {
      hw_switch r;
      if (!read_as(record, &r)) return false;
      *out = {r.head.ts_ns, r.prev_exec_ns, r.head.tid, r.next_tid, r.flags, r.prev_state, cpu, EventType::kSwitch};
      return true;
    }
    case HW_WAKING: {
      hw_waking r;
      if (!read_as(record, &r)) return false;
      *out = {r.head.ts_ns, 0, r.head.tid, r.waker_tid, r.flags, 0, cpu, EventType::kWaking};
      return true;
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
