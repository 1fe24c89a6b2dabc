// Changes of the account that no thread of the program makes: phases of the JVM, and the cores that other processes use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headway {

// Rates and counts of cores that must add up exactly are whole numbers of this part of a core.
constexpr int kRateBits = 32;
constexpr double kRateUnit = 1.0 / (int64_t{1} << kRateBits);

enum class SpanCode : uint8_t { kLoss, kGcPause, kStartup, kShutdown, kThrottled, kSafepoint };
constexpr int kSpanCodes = 6;

// `weight` is the part of the idle cores that the span speaks for: one of two JVMs stands still, one of four CPUs has
// losses.
struct SpanColumns {
  size_t rows = 0;
  const int64_t* start_ns = nullptr;
  const int64_t* end_ns = nullptr;
  const uint8_t* code = nullptr;
  const double* weight = nullptr;
};

// What others ran on one of the CPUs between two points, and what of it was the recorder: both spread evenly.
struct OtherColumns {
  size_t rows = 0;
  const int64_t* start_ns = nullptr;
  const int64_t* end_ns = nullptr;
  const int64_t* other_ns = nullptr;
  const int64_t* headway_ns = nullptr;
};

// The present rates while time goes backwards from to_ns to from_ns.
class Changes {
 public:
  Changes(const SpanColumns& spans, const OtherColumns& others, int64_t from_ns, int64_t to_ns);

  // When something changes next (backwards); INT64_MIN: never.
  int64_t next_ns() const;
  // Lets everything happen that happens at ns or later.
  void step_to(int64_t ns);

  // All of what follows is looked up at every change of a thread.
  double weight(SpanCode code) const { return part_[static_cast<int>(code)]; }
  bool is_in_any() const { return open_spans_ > 0; }
  bool is_in(SpanCode code) const { return open_[static_cast<int>(code)] > 0; }
  double others() const { return static_cast<double>(other_) * kRateUnit; }
  double headway() const { return static_cast<double>(headway_) * kRateUnit; }

 private:
  struct SpanEdge {
    int64_t ns;
    int64_t weight;
    int32_t open;  // +1: going backwards, the span is entered
    SpanCode code;
  };
  struct RateEdge {
    int64_t ns;
    int64_t other;
    int64_t headway;
  };
  void add_spans(const SpanColumns& spans, int64_t from_ns, int64_t to_ns);
  void add_others(const OtherColumns& others, int64_t from_ns, int64_t to_ns);

  std::vector<SpanEdge> span_edges_;  // the latest first
  std::vector<RateEdge> rate_edges_;
  size_t next_span_ = 0, next_rate_ = 0;
  int64_t weight_[kSpanCodes] = {};
  int64_t open_[kSpanCodes] = {};
  int64_t open_spans_ = 0;
  double part_[kSpanCodes] = {};  // weight_ as a part of all, at most 1
  int64_t other_ = 0, headway_ = 0;
};

inline int64_t Changes::next_ns() const {
  const int64_t span = next_span_ < span_edges_.size() ? span_edges_[next_span_].ns : INT64_MIN;
  const int64_t rate = next_rate_ < rate_edges_.size() ? rate_edges_[next_rate_].ns : INT64_MIN;
  return std::max(span, rate);
}

}  // namespace headway
