// CPU timers: a signal to a thread each time it has used so much CPU time, from perf's task clock where the kernel
// allows that (exact), else from POSIX CPU timers (no finer than the kernel's tick: mostly 4 ms).
#pragma once

#include <time.h>

#include <cstdint>

namespace headway::agent::causal {

struct CpuTimer {
  enum class Kind : uint8_t { kNone, kPerf, kPosix };
  Kind kind = Kind::kNone;
  int64_t period_ns = 0;
  int fd = -1;
  uint64_t event = 0;  // what the kernel calls what is behind it
  int timer = 0;       // the kernel's number
};

// Finds out what this process may use. `signal`: must be a classic one, not a real-time signal: perf falls back to
// SIGIO, which would end the process, when the queue of real-time signals is full.
void prepare_timers(int signal, int64_t period_ns) noexcept;
bool perf_is_allowed() noexcept;

// `tid`: a thread of this process, by its OS id. Kind::kNone: there is nothing left to be had.
CpuTimer start_timer(uint32_t tid) noexcept;
void stop_timer(CpuTimer& timer) noexcept;
// The program has closed its descriptor: there are some that close all that they know nothing of. That number may be
// the program's own by now, and is left alone.
bool is_lost(const CpuTimer& timer) noexcept;
// From now on only such as have no descriptor.
void avoid_descriptors() noexcept;
// [signal] From now on every `period_ns`. Of perf's timers only: the others can't be finer than the kernel's tick
// anyway.
void change_period(CpuTimer& timer, int64_t period_ns) noexcept;

// CPU time that a thread of this process has used; -1: there is none such.
int64_t cpu_ns_of(uint32_t tid) noexcept;

}  // namespace headway::agent::causal
