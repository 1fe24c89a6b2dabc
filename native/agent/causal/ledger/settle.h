// Pays the delay that the calling thread owes: holds it up for that long, or until the JVM wants it to stop.
// In a signal handler: with PayIn::kJava only, which takes system calls, no memory and no locks; errno is kept.
#pragma once

#include <cstdint>

#include "agent/causal/ledger/ledger.h"

namespace headway::agent::causal {

// How long it sleeps before it looks again whether its experiment is still on.
constexpr int64_t kSliceNs = 5'000'000;
// The most that is paid in Java code at once. Then the thread runs for a sampling period that it ought to have stood
// still, so the longer the better; but where nobody sees that the JVM wants it to stop (stop_word.h), all wait for it.
constexpr int64_t kMostInJavaNs = 20'000'000;
constexpr int64_t kMostUncalledNs = 5'000'000;

enum class PayIn {
  kNative,  // safepoints don't wait for the thread: in hooks, which are native methods, and in the JVM's events
  kJava,    // whoever wants a safepoint waits for it: in a sample's signal handler
};

// Pays what the calling thread, whose account it is, owes, also what is added meanwhile. Returns at once if that is
// nothing, if it is paying already (a signal in the middle of it), or as soon as the experiment is over. In Java it
// pays kMostInJavaNs at most (kMostUncalledNs where it can't be called), and ends as soon as the JVM wants the thread
// to stop: the rest is paid at the next sample.
void settle(DelayAccount& account, PayIn where = PayIn::kNative) noexcept;

// How to pay. Spinning: the thread burns CPU time, so that its core goes to nobody else meanwhile. Else it sleeps.
void set_spinning(bool spin) noexcept;

// What a thread in native code calls where the JVM wants it to stop: `poll` returns when it may go on. Null: it waits
// for the JVM to take the mark back, which HotSpot does not.
void set_safepoint_poll(void (*poll)()) noexcept;

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
