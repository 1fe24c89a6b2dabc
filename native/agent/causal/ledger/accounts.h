// The accounts of all threads together: who has one, what their payments cost, and the payment at a sample.
// Knows nothing of the JVM.
#pragma once

#include <cstdint>

#include "agent/causal/ledger/ledger.h"

namespace headway::agent::causal {

struct Payments {
  uint64_t late = 0;  // put off to the next sample, because the thread could not be held up where it was
  int64_t spin_ns = 0;
  int64_t slept_ns = 0;
  int64_t overslept_ns = 0;
  uint32_t threads = 0;             // seen so far
  uint32_t unprofiled_threads = 0;  // of them: no account was free
  uint64_t run_delays = 0;          // how often a thread asked how long it had waited for a core
  uint64_t unknown_run_delays = 0;  // and was not reported
};
Payments payments() noexcept;
void clear_payments() noexcept;  // what payments cost is reported per recording
void count_new_thread() noexcept;
// What the thread has paid stays in payments(); its account is free for another one.
void close_account(DelayAccount& account) noexcept;
// Accounts of threads that ended while nothing was recorded.
void close_ended_accounts() noexcept;

// OS thread ids of (some of) the live threads with an account; the number written.
uint32_t program_threads(uint32_t* tids, uint32_t room) noexcept;

// [signal] After each sample, on the thread itself: pays, or puts it off where the thread must not be held up now.
void settle_sample(DelayAccount& account, bool may_pay) noexcept;
bool is_waiting(const DelayAccount& account) noexcept;  // [signal] in a wait that the hooks know of
int64_t spun_ns(const DelayAccount& account) noexcept;  // [signal] CPU time that payments have burnt, all in all

}  // namespace headway::agent::causal
