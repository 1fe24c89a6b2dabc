#include "decode/scheduling/slice_counts.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>

#include "wire/records.h"

namespace headway {
namespace {

constexpr int64_t kLongestWaitNs = 1'000'000'000;  // for a reading after the window's end
constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 4;

constexpr int64_t kOfThousand = 1000;

// TASK_DEAD, as the kernel reports it of a thread's last switch: what it counted is all its own, though the window ends with
// its process, a little before.
constexpr uint16_t kDead = 0x80;

}  // namespace

bool SpanCounts::is_of(int64_t begin_ns, int64_t end_ns) const {
  const int64_t most = (end_ns - begin_ns) / kOfThousand;
  return !values.empty() && std::abs(from_ns - begin_ns) <= most && std::abs(to_ns - end_ns) <= most;
}

bool SliceCounts::difference(const Reading& since, const Event& event, SpanCounts* out) const {
  out->values.clear();
  if (since.counts.empty() || event.counts == nullptr || since.tid == 0 || since.tid != event.tid) return false;
  const int64_t from = std::clamp(since.ts_ns, start_ns_, end_ns_), to = std::clamp(event.ts_ns, start_ns_, end_ns_);
  const int64_t whole = event.ts_ns - since.ts_ns;
  if (to <= from) return false;
  const bool is_last = event.type == EventType::kSwitch && (event.state & kDead) != 0;
  const bool is_whole = from == since.ts_ns && (to == event.ts_ns || is_last);
  out->from_ns = from;
  out->to_ns = to;
  for (size_t i = 0; i < since.counts.size(); ++i) {
    const uint64_t counted = event.counts[i] - since.counts[i];
    if (event.counts[i] < since.counts[i] || counted > kMost) {  // nonsense, or a reading that came late
      out->values.clear();
      return false;
    }
    out->values.push_back(is_whole ? static_cast<int64_t>(counted)
                                   : static_cast<int64_t>(static_cast<__int128>(counted) * (to - from) / whole));
  }
  return true;
}

void SliceCounts::on_event(const Event& event) {
  left_.values.clear();
  if (!is_counted() || event.cpu < 0 || (event.type != EventType::kSwitch && event.type != EventType::kCounts)) return;
  const auto cpu = static_cast<size_t>(event.cpu);
  if (cpu >= cpus_.size()) cpus_.resize(cpu + 1);
  Reading& at = cpus_[cpu];
  const bool is_reading = event.type == EventType::kCounts;
  const bool is_out = event.type == EventType::kSwitch && (event.flags & HW_SW_PREV_OURS) != 0;
  if (event.ts_ns > end_ns_) {
    if ((is_reading || is_out) && difference(at, event, &at.until)) at.until_tid = event.tid;
    at.tid = 0;  // later ones are of others, or of the same thread in another slice
    if (event.ts_ns > end_ns_ + kLongestWaitNs) std::ranges::for_each(cpus_, [](Reading& each) { each.tid = 0; });
    return;
  }
  if (is_reading && at.tid != 0) {  // it came on record, and still runs: it is counted from there
    at.until_tid = difference(at, event, &at.until) ? event.tid : 0;
    return;
  }
  if (is_out) difference(at, event, &left_);
  at.tid = is_reading ? event.tid : (event.flags & HW_SW_NEXT_OURS) != 0 ? event.other : 0;
  at.ts_ns = event.ts_ns;
  at.until_tid = 0;
  at.until.values.clear();
  at.counts.clear();
  if (event.counts != nullptr) at.counts.assign(event.counts, event.counts + counted_.counters + counted_.groups);
}

bool SliceCounts::wants_more() const {
  return std::ranges::any_of(cpus_, [](const Reading& at) { return at.tid != 0 && !at.counts.empty(); });
}

const SpanCounts& SliceCounts::still_running(uint32_t tid) const {
  static const SpanCounts kNothing;
  const auto found = std::ranges::find(cpus_, tid, &Reading::until_tid);
  return tid == 0 || found == cpus_.end() ? kNothing : found->until;
}

}  // namespace headway
