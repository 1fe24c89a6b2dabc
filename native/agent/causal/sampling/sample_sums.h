// Totals of all samples, and the listener that each sample is reported to.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/causal/sampling/sampled.h"

namespace headway::agent::causal {

// The experiments register what they do with a sample; on the thread itself, in a signal handler.
using SampleListener = void (*)(DelayAccount& account, const Sample& sample) noexcept;
void set_sample_listener(SampleListener listener) noexcept;

// There are samples from here on: sums begin anew.
void clear_sample_sums() noexcept;
// Sums and experiment: what there is to do with every sample, on or for its thread.
void count_sample(Sampled& thread, const Sample& sample) noexcept;
// The same of a wait that its thread has seen to its end.
void count_wait(DelayAccount& account, const Sample& sample) noexcept;
void count_one_more() noexcept;

struct SampleSums {
  uint64_t samples = 0;
  int64_t out_of_scope_ns = 0;
  int64_t unread_ns = 0;
  int64_t old_code_ns = 0;  // in scope, in code that was compiled without lines between safepoints
};
SampleSums sample_sums() noexcept;

}  // namespace headway::agent::causal
