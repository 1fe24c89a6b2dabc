// Epochs, in each of which one line at most is made faster, and their delays: what was owed before an epoch is forgiven
// when it begins.
#pragma once

#include <atomic>
#include <cstdint>

namespace headway::agent::causal {

// A new epoch: nobody owes anything, whatever was owed is forgiven, who is paying stops. `spin`: payments burn CPU.
// Delays of the epoch that ends are kept for the clocks that leave all of them out.
void change_epoch(bool spin) noexcept;
int64_t epoch_delay_ns() noexcept;  // [signal] G of this epoch
// G itself: inserted bytecode reads it by its address, and settles (before_waking) only when it has moved since.
const std::atomic<int64_t>& epoch_delay_word() noexcept;
// Delays inserted since forget_inserted, of all epochs and of pauses made shorter: what a latency clock leaves out.
int64_t inserted_ns() noexcept;  // [signal]
void forget_inserted() noexcept;

}  // namespace headway::agent::causal
