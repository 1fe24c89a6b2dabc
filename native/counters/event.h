// One performance event as the kernel is asked for it (perf_event_attr), and groups of them, which are counted together.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headway {

struct CounterEvent {
  std::string name;
  uint32_t type = 0;  // PERF_TYPE_..., or what a PMU of sysfs says
  uint64_t config = 0;
  uint64_t config1 = 0;  // of breakpoints: the address
  uint64_t config2 = 0;  // of breakpoints: how many bytes
  uint32_t bp_type = 0;
  bool user_only = false;
  bool kernel_only = false;
  uint32_t exercise = 0;  // what makes it count: bits of hw_exercise in known_loop.h
};

using CounterGroup = std::vector<CounterEvent>;

struct EventTotals {
  uint64_t value = 0;
  uint64_t enabled_ns = 0;
  uint64_t running_ns = 0;
};

enum class Reading : uint8_t {
  kOneEvent,    // EventTotals of each event by itself
  kWholeGroup,  // of the first: how many, enabled and running ns, then each event's count
};

// A descriptor of the event, or -1 with errno set. pid 0 and cpu -1: of the calling thread; pid -1: all of one CPU.
// `leader`: the descriptor of the first of its group, -1 for the first itself, which begins disabled.
int open_event(const CounterEvent& event, pid_t pid, int cpu, int leader, Reading reading = Reading::kOneEvent);

// Lets a group count, all its members at once; false with errno set.
bool enable_group(int leader);

// What an event has counted since it was opened; false with errno set.
bool read_event(int fd, EventTotals* totals);

// The same of all events of a group at one moment, by its first, which was opened with kWholeGroup; `totals` has a place for each.
bool read_group(int leader, std::span<EventTotals> totals);

}  // namespace headway
