// A group of performance events that a program counts for itself (java/api's Counters): of a thread or of CPUs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "counters/event.h"

namespace headway::agent {

constexpr int kAnyCpu = -1;
constexpr size_t kMostEventsOfGroup = 16;
constexpr int64_t kUnknownCount = -1;

// The event of a name: one of the kernel's generic ones, or a raw code such as r01b1; behind it :u or :k. False: there is none.
bool named_event(std::string_view name, CounterEvent* event);

class OwnGroup {
 public:
  // Opens and starts the events of the calling thread, or of whoever is on a CPU, or of all CPUs. Null, with the reason in words,
  // where one can't be counted: all count together or none.
  static std::unique_ptr<OwnGroup> open(const CounterGroup& events, bool is_of_thread, int cpu, std::string* reason);
  ~OwnGroup();
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

  size_t events() const { return events_; }

  // What was counted since the last call, one number an event: scaled up where the group had a counter for a part of the time,
  // kUnknownCount where it had none.
  void read_and_reset(int64_t* counts);

 private:
  struct Place {  // the group on one CPU, or on all of a thread's
    std::vector<int> fds;
    int presence = -1;           // of a thread on one CPU: an event that is always counted while the thread is there
    bool is_of_cpu = false;      // of whoever is there
    int64_t last_read_ns = 0;    // CLOCK_MONOTONIC
    std::vector<uint64_t> last;  // how long it was to count and how long it did, in ns, then each event's count
  };

  explicit OwnGroup(size_t events) : events_(events) {}
  static void close_place(const Place& place);
  int open_at(const CounterGroup& events, pid_t pid, int cpu, size_t* failed);
  // How long the group was to count and how long it did, since it was opened, then the counts. What is bound to a CPU is to
  // count while the thread is there alone, which the kernel's own "enabled" does not know.
  bool read_words(const Place& place, uint64_t* words) const;
  bool read_place(Place* place, int64_t* counts) const;

  size_t events_;
  std::vector<Place> places_;
};

}  // namespace headway::agent
