#include "lost_cores/changes.h"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

constexpr int64_t kMostCores = 1 << 12;

// `part` of `whole` ns as a rate; at most kMostCores.
int64_t rate(int64_t part, int64_t whole) {
  const __int128 found = (static_cast<__int128>(std::max<int64_t>(part, 0)) << kRateBits) / whole;
  return static_cast<int64_t>(std::min(found, static_cast<__int128>(kMostCores) << kRateBits));
}

}  // namespace

Changes::Changes(const SpanColumns& spans, const OtherColumns& others, int64_t from_ns, int64_t to_ns) {
  add_spans(spans, from_ns, to_ns);
  add_others(others, from_ns, to_ns);
  const auto later = [](const auto& a, const auto& b) { return a.ns > b.ns; };
  std::sort(span_edges_.begin(), span_edges_.end(), later);
  std::sort(rate_edges_.begin(), rate_edges_.end(), later);
}

void Changes::add_spans(const SpanColumns& spans, int64_t from_ns, int64_t to_ns) {
  for (size_t i = 0; i < spans.rows; ++i) {
    const int64_t begin = std::max(spans.start_ns[i], from_ns), end = std::min(spans.end_ns[i], to_ns);
    if (begin >= end || spans.code[i] >= kSpanCodes || !(spans.weight[i] > 0)) continue;
    const auto weight = static_cast<int64_t>(std::ldexp(std::min(spans.weight[i], 1.0), kRateBits));
    const auto code = static_cast<SpanCode>(spans.code[i]);
    span_edges_.push_back({end, weight, 1, code});
    span_edges_.push_back({begin, -weight, -1, code});
  }
}

void Changes::add_others(const OtherColumns& others, int64_t from_ns, int64_t to_ns) {
  for (size_t i = 0; i < others.rows; ++i) {
    const int64_t begin = std::max(others.start_ns[i], from_ns), end = std::min(others.end_ns[i], to_ns);
    if (begin >= end || others.other_ns[i] <= 0) continue;
    // The whole length, not that inside the window: the rate is the same in both. Differences may pass int64's range.
    const auto whole = static_cast<__int128>(others.end_ns[i]) - others.start_ns[i];
    const auto length = static_cast<int64_t>(std::min<__int128>(whole, INT64_MAX));
    const int64_t other = rate(others.other_ns[i], length);
    const int64_t headway = std::min(rate(others.headway_ns[i], length), other);
    rate_edges_.push_back({end, other, headway});
    rate_edges_.push_back({begin, -other, -headway});
  }
}

void Changes::step_to(int64_t ns) {
  for (; next_span_ < span_edges_.size() && span_edges_[next_span_].ns >= ns; ++next_span_) {
    const SpanEdge& edge = span_edges_[next_span_];
    weight_[static_cast<int>(edge.code)] += edge.weight;
    open_[static_cast<int>(edge.code)] += edge.open;
    open_spans_ += edge.open;
    part_[static_cast<int>(edge.code)] =
        std::min(1.0, static_cast<double>(weight_[static_cast<int>(edge.code)]) * kRateUnit);
  }
  for (; next_rate_ < rate_edges_.size() && rate_edges_[next_rate_].ns >= ns; ++next_rate_) {
    other_ += rate_edges_[next_rate_].other;
    headway_ += rate_edges_[next_rate_].headway;
  }
}

}  // namespace headway
