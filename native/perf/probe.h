// Probes behind `headway doctor`: each tries for real, and undoes at once, what the collectors need of this machine.
#pragma once

#include <cstddef>
#include <string>

namespace headway {

struct ProbeResult {
  int reason = 0;         // errno, or 0: it works
  std::string step;       // the step that failed
  size_t ring_bytes = 0;  // perf only: the ring that each CPU could have
};

// Creates a ring buffer map, loads a program that reads kernel memory, and attaches it to a scheduler tracepoint for an
// instant. Steps: "map", "load", "read", "attach".
ProbeResult probe_bpf();

// Opens headway's switch event on this very thread for each CPU and maps the rings. Steps: "open", "ring", "redirect".
ProbeResult probe_perf();

// Opens a hardware cycle counter on this thread, user space only. Step: "open".
ProbeResult probe_hardware_counter();

}  // namespace headway
