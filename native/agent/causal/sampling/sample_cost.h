// What a sample costs its program, and how far apart samples are to be for that. Knows nothing of the JVM nor of
// clocks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headway::agent::causal {

// What the interrupt and the signal cost the kernel, ns: no clock of ours sees that. On a virtual machine it was 25 us.
constexpr int64_t kDeliveryNs = 20'000;
// A handler that takes longer than this finds little of what it needs in the caches, for the program fills them, and
// as much of the program's is pushed out: that costs so many times the difference once more, when the program goes on.
constexpr int64_t kWarmNs = 6'000;
constexpr int64_t kPushedOut = 3;
// A period is so many times what a sample usually costs by that, and so many times what it costs in the mean; or as
// long as it was asked to be, if that is longer.
constexpr int64_t kUsualShare = 70;
constexpr int64_t kMeanShare = 20;
constexpr int64_t kAskedShare = 5;  // for a period that the user asked for: that the program gets on at all
constexpr int64_t kLongestPeriodNs = 4'000'000;

// Of the handler. The usual cost follows the median: when the host takes a core, its clocks go on, which says nothing
// of what the next sample will cost. The mean is for programs some of whose stacks are dear.
struct SampleCost {
  int64_t usual_ns = 0;  // 0: not known yet
  int64_t mean_ns = usual_ns;

  constexpr void add(int64_t cost_ns) noexcept {
    constexpr int64_t kMostNs = 1'000'000;  // it is not the stack that takes longer
    // The first one may have lost its core, too.
    if (usual_ns == 0) usual_ns = mean_ns = std::clamp<int64_t>(cost_ns, 1, kWarmNs);
    const int64_t step_ns = usual_ns / 16 + 1;
    usual_ns = std::max<int64_t>(cost_ns > usual_ns ? usual_ns + step_ns : usual_ns - step_ns, 1);
    mean_ns += (std::min(cost_ns, kMostNs) - mean_ns) / 64;
  }
};

// `least_ns`: the period that was asked for (`is_asked`), or the shortest that is used.
constexpr int64_t period_for(const SampleCost& cost, int64_t least_ns, bool is_asked) noexcept {
  const int64_t pushed_out_ns = kPushedOut * std::max<int64_t>(cost.usual_ns - kWarmNs, 0);
  const int64_t usual_ns = kUsualShare * (kDeliveryNs + cost.usual_ns + pushed_out_ns);
  const int64_t mean_ns = kDeliveryNs + cost.mean_ns;
  const int64_t wanted_ns = is_asked ? kAskedShare * mean_ns : std::max(usual_ns, kMeanShare * mean_ns);
  return std::clamp(wanted_ns, least_ns, std::max(kLongestPeriodNs, least_ns));
}

}  // namespace headway::agent::causal
