// Who runs or sleeps in which line: causal.h has what others call. Shared by sampling.cpp (the handler),
// sampled_threads.cpp (their table) and sleepers.cpp (the thread that looks at those that sleep).
#pragma once

#include <jni.h>

#include <atomic>
#include <cstdint>

#include "agent/causal/causal.h"
#include "agent/causal/sample_cost.h"
#include "agent/causal/stack_reader.h"
#include "agent/causal/timers.h"

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

// A sampled thread. Never freed, used again for another one.
struct Sampled {
  std::atomic<uint32_t> tid{0};
  std::atomic<Sampled*> next{nullptr};  // in its bucket
  std::atomic<bool> is_inside{false};   // its handler runs
  Account* account = nullptr;
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

int sampling_signal() noexcept;
bool is_sampling() noexcept;
// Calls `act(Sampled&)` for up to `most` threads from `*position` on, round robin; none of them ends meanwhile. `act`
// returns false when it wants no more. On the agent's own thread.
void each_sampled(uint32_t* position, uint32_t most, bool (*act)(Sampled& thread, void* context),
                  void* context) noexcept;
uint32_t this_tid() noexcept;                  // [signal]
Sampled* find_sampled(uint32_t tid) noexcept;  // [signal] null: not sampled, or just being taken out
void begin_sampled() noexcept;                 // counts from here
void forget_sampled() noexcept;                // of all threads; their timers end
uint32_t threads_without_timer() noexcept;
// Sums and experiment: what there is to do with every sample, on or for its thread.
void count_sample(Sampled& thread, const Sample& sample) noexcept;

// sleepers.cpp
bool start_sleepers(JNIEnv* jni) noexcept;
void stop_sleepers() noexcept;

}  // namespace headway::agent::causal
