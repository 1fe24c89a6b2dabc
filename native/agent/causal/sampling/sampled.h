// A thread of the program that is sampled: its timer, and what its samples and the looks at its sleep have found.
#pragma once

#include <jni.h>

#include <atomic>
#include <cstdint>

#include "agent/causal/ledger/ledger.h"
#include "agent/causal/sampling/sample.h"
#include "agent/causal/sampling/sample_cost.h"
#include "agent/causal/sampling/stack_reader.h"
#include "agent/causal/sampling/timers.h"

namespace headway::agent::causal {

// What the agent's thread knows of a thread that may be asleep.
struct Look {
  int64_t seen_ns = 0;      // last look
  int64_t interval_ns = 0;  // until the next
  int64_t cpu_ns = -1;      // its CPU clock then
  int64_t turns = -1;       // how often it was given a CPU, when it got our signal; -1: unknown
  bool same_sleep = false;  // while its CPU clock stands still it is where `sample` says
  // Between the agent's thread and the handler.
  std::atomic<int64_t> weight_ns{0};  // asked for; 0: nothing
  std::atomic<bool> is_known{false};  // the handler has filled in `sample`
  Sample sample{};
};

// Never freed, used again for another one.
struct Sampled {
  std::atomic<uint32_t> tid{0};
  std::atomic<Sampled*> next{nullptr};  // in its bucket
  std::atomic<bool> is_inside{false};   // its handler runs
  DelayAccount* account = nullptr;
  CpuTimer timer;
  ReaderState reader;
  std::atomic<JNIEnv*> jni{nullptr};              // known from its first sample on
  std::atomic<const char*> java_thread{nullptr};  // likewise
  int64_t counted_cpu_ns = 0;                     // up to here its CPU clock has been in a sample
  int64_t counted_spun_ns = 0;
  int64_t first_period_ns = 0;
  SampleCost cost;
  uint32_t until_look = 0;                   // samples, at whether its period is long enough for that
  std::atomic<bool> is_out_of_scope{false};  // its last sample
  Look look;
  std::atomic<bool> is_called{false};  // to pay at once, not at its next sample
  int64_t paid_cpu_ns = 0;             // its CPU clock when it last paid in Java code
};

}  // namespace headway::agent::causal
