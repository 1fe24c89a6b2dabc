#include "agent/causal/sampling/periods.h"

#include <atomic>

#include "agent/causal/sampling/sample_cost.h"
#include "agent/causal/sampling/sampled.h"

namespace headway::agent::causal {
namespace {

struct Periods {
  int64_t least_ns = 0;
  bool is_asked = false;
  std::atomic<int64_t> usual_cost_ns{0};  // of a sample, over all threads; 0: not known yet
};
constinit Periods self;

// With periods as different as they were.
void adapt_period(Sampled& thread) {
  const int64_t usual_ns = period_for(thread.cost, self.least_ns, self.is_asked);
  const int64_t period_ns = thread.first_period_ns * usual_ns / self.least_ns;
  const int64_t now_ns = thread.timer.period_ns;
  if (period_ns > now_ns + now_ns / 8 || period_ns < now_ns - now_ns / 8) change_period(thread.timer, period_ns);
}

}  // namespace

void begin_periods(int64_t period_ns, bool is_asked) noexcept {
  self.least_ns = period_ns;
  self.is_asked = is_asked;
  self.usual_cost_ns = 0;
}

// Deep stacks take long to read: then samples are taken less often.
void keep_cost_low(Sampled& thread, int64_t cost_ns) noexcept {
  thread.cost.add(cost_ns);
  if (thread.until_look-- != 0) return;
  thread.until_look = kSamplesBetweenLooks;
  tell_usual_cost(thread);
  adapt_period(thread);
}

// Many programs start threads all the time that end before their samples have shown what they cost. So each goes on
// where others have come to. Two that tell at once: one of them is not heard.
void tell_usual_cost(const Sampled& thread) noexcept {
  const int64_t cost_ns = thread.cost.usual_ns;
  if (cost_ns == 0) return;  // it was never sampled
  const int64_t before_ns = self.usual_cost_ns.load(std::memory_order_relaxed);
  const int64_t step_ns = before_ns == 0 ? cost_ns : (cost_ns - before_ns) / 8;
  self.usual_cost_ns.store(before_ns + step_ns, std::memory_order_relaxed);
}

void take_usual_period(Sampled& thread) noexcept {
  thread.cost = SampleCost{self.usual_cost_ns.load(std::memory_order_relaxed)};
  if (thread.cost.usual_ns != 0) adapt_period(thread);
}

}  // namespace headway::agent::causal
