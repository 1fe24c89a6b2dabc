// Paying: holding the calling thread up for as long as it owes. Knows nothing of the JVM. May be called in a signal
// handler: system calls, no memory, no locks, errno is kept.
#pragma once

#include <cstdint>

#include "agent/causal/ledger.h"

namespace headway::agent::causal {

// How long it pays before it looks again whether its experiment is still on. Also the most that a sample's signal
// handler pays: the thread is in Java then, and whoever wants a safepoint waits for it. The rest is paid at the next
// one.
constexpr int64_t kSliceNs = 5'000'000;
constexpr int64_t kAllNs = INT64_MAX;

// Pays what the calling thread, whose account it is, owes, also what is added meanwhile, but not more than `most_ns`.
// Returns at once
// if that is nothing, if it is paying already (a signal in the middle of it), or as soon as the experiment is over.
void settle(Account& account, int64_t most_ns = kAllNs) noexcept;

// How to pay. Spinning: the thread burns CPU time, so that its core goes to nobody else meanwhile. Else it sleeps.
void set_spinning(bool spin) noexcept;

// The calling thread's clocks, now.
Clocks read_clocks() noexcept;

// How often a thread asked the kernel for how long it had waited for a core, and how often that did not tell: it was
// excused of nothing then.
struct RunDelays {
  uint64_t read;
  uint64_t unknown;
};
RunDelays run_delays() noexcept;
void clear_run_delays() noexcept;

}  // namespace headway::agent::causal
