// One sample: the line that a thread runs or sleeps in, and the time that it stands for.
#pragma once

#include <cstdint>

namespace headway::agent::causal {

struct Sample {
  uint32_t line;             // innermost frame in scope, by lines.h; 0: none in scope, 1: the stack could not be read
  uint32_t method;           // of that line, by lines.h
  int64_t weight_ns;         // what it stands for: CPU time since the thread's last sample, or time asleep
  bool is_blocked;           // asleep (Thread.sleep, I/O, a timed wait that ended by its time), not running
  bool is_whole = false;     // of a sleep or a timed wait: all of it
  bool is_old_code = false;  // compiled without lines between safepoints
  bool in_target_method = false;  // target_method() is among its frames, or a frame is in such a section
};

}  // namespace headway::agent::causal
