// Causal profiling, on and off: experiments in each of which one line is made faster, by holding up all other threads
// whenever it runs. Virtual speedups after Coz (Curtsinger and Berger, SOSP 2015), blocked samples after BCOZ (OSDI
// 2024); docs/decisions/0008-causal.md says where we differ.
//
//   ledger       what every thread owes and has paid
//   common       what was asked for, and the notes
//   sections     where code holds the lock that is made faster
//   sampling     who runs or sleeps in which line, now
//   target       which samples are hits, and what lines add up to
//   blocking     when threads wait, wake others, begin and end
//   points       visits of progress points (instrumented bytecode)
//   experiments  which line is made how much faster, for how long; what came of it
//
// Everything marked [signal] is called in signal handlers: no locks, no memory, no JNI.
#pragma once

#include <jni.h>

namespace headway::agent::causal {

// Live phase. Parses agent().options.causal, instruments, starts sampling and the thread that runs experiments.
void begin_causal(JNIEnv* jni) noexcept;
// No more delays, timers disarmed, last notes written. Any thread; also when the JVM dies (`with_program`).
void end_causal(bool with_program = false) noexcept;
// Asks the thread of the experiments to do so; returns at once.
void wake_causal() noexcept;

}  // namespace headway::agent::causal
