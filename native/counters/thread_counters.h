// Groups of performance events that are open on single threads, from outside of them: for looks at a program that runs.
// A thread takes a descriptor for each event, which is why recordings read the counters of CPUs instead (cpu_counters.h).
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "counters/event.h"

namespace headway {

class ThreadCounters {
 public:
  explicit ThreadCounters(std::vector<CounterGroup> groups);
  ~ThreadCounters();
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(const ThreadCounters&) = delete;

  // Counts a thread from now on, on whatever CPU it runs. Returns 0, or errno: then nothing of it is open.
  int add(pid_t tid);
  void remove(pid_t tid);

  // What its events have counted since it was added, in the order of the groups, also after its end. False: it is not
  // counted, or its counters can't be read any more.
  bool read(pid_t tid, std::vector<EventTotals>* totals) const;

 private:
  std::vector<CounterGroup> groups_;
  std::map<pid_t, std::vector<int>> fds_;
};

}  // namespace headway
