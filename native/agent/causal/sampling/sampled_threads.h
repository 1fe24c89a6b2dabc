// The table of the threads that are sampled, and the signal by which they are.
#pragma once

#include <cstdint>

#include "agent/causal/sampling/sampled.h"

namespace headway::agent::causal {

bool is_sampling() noexcept;             // [signal]
bool switch_sampling(bool on) noexcept;  // what it was before
int sampling_signal() noexcept;          // 0: none yet
void set_sampling_signal(int number) noexcept;

void arm_timer(DelayAccount& account, uint32_t tid) noexcept;
void disarm_timer(DelayAccount& account) noexcept;
// All who run Java code now and owe much pay at once, not at their next samples. Not in a signal handler.
void call_to_pay() noexcept;

// Calls `act(Sampled&)` for up to `most` threads from `*position` on, round robin; none of them ends meanwhile. `act`
// returns false when it wants no more. On a thread of the agent's.
void each_sampled(uint32_t* position, uint32_t most, bool (*act)(Sampled& thread, void* context),
                  void* context) noexcept;
uint32_t this_tid() noexcept;                  // [signal]
Sampled* find_sampled(uint32_t tid) noexcept;  // [signal] null: not sampled, or just being taken out
void begin_sampled() noexcept;                 // counts from here
void forget_sampled() noexcept;                // of all threads; their timers end
uint32_t threads_without_timer() noexcept;

}  // namespace headway::agent::causal
