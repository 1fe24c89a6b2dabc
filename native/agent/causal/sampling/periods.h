// Sampling periods: how far apart a thread's samples are, so that they cost little.
#pragma once

#include <cstdint>

namespace headway::agent::causal {

struct Sampled;

constexpr uint32_t kSamplesBetweenLooks = 64;  // at how long a thread's period has to be

// Of a recording. `period_ns`: the shortest, from which threads differ by up to a fifth.
void begin_periods(int64_t period_ns, bool is_asked) noexcept;
// [signal] A sample of the calling thread took so long, CPU time.
void keep_cost_low(Sampled& thread, int64_t cost_ns) noexcept;
// Threads that begin know what samples cost: their periods are as long as the others' have become.
void tell_usual_cost(const Sampled& thread) noexcept;  // [signal]
void take_usual_period(Sampled& thread) noexcept;

}  // namespace headway::agent::causal
