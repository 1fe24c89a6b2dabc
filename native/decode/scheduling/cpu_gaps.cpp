#include "decode/scheduling/cpu_gaps.h"

#include <algorithm>

#include "wire/records.h"

namespace headway {

void CpuGaps::begins(int cpu, int64_t ns) {
  if (cpu < 0) return;
  const auto at = static_cast<size_t>(cpu);
  if (at >= since_.size()) since_.resize(at + 1, kNone);
  since_[at] = std::max<int64_t>(ns, 0);  // it may be damaged
}

bool CpuGaps::on_switch(const Event& event) {
  const auto cpu = static_cast<size_t>(event.cpu);
  if (cpu >= since_.size()) since_.resize(cpu + 1, kNone);
  const bool from_ours = (event.flags & HW_SW_PREV_OURS) != 0, to_ours = (event.flags & HW_SW_NEXT_OURS) != 0;
  const bool tells = !from_ours && (event.flags & HW_SW_OTHERS) != 0;
  if (tells) {
    is_known_ = true;
    const auto other_ns = static_cast<int64_t>(std::min<uint64_t>(event.exec_ns, INT64_MAX));
    if (since_[cpu] != kNone) close(cpu, event.ts_ns, other_ns);
  }
  since_[cpu] = !to_ours && (from_ours || tells) ? event.ts_ns : kNone;
  return from_ours || to_ours;
}

bool CpuGaps::wants_more() const {
  return is_known_ && std::ranges::any_of(since_, [&](int64_t since) { return since != kNone && since < end_ns_; });
}

// Of a stretch that the window cuts off, others get the share of what they had of the whole.
void CpuGaps::close(size_t cpu, int64_t ts_ns, int64_t other_ns) {
  const int64_t since = since_[cpu], whole = ts_ns - since;
  const int64_t start = std::max(since, start_ns_), end = std::min(ts_ns, end_ns_);
  if (start >= end) return;
  other_ns = std::min(other_ns, whole);
  if (end - start != whole) other_ns = static_cast<int64_t>(static_cast<__int128>(other_ns) * (end - start) / whole);
  if (other_ns > 0) rows_.push_back({start, end - start, other_ns, static_cast<int16_t>(cpu)});
}

}  // namespace headway
