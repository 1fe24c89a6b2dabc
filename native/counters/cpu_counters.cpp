#include "counters/cpu_counters.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "spool/collector_error.h"

namespace headway {
namespace {

// Lets this process have as many descriptors as it may: a counter takes one on each CPU.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

CpuCounters::CpuCounters(std::vector<CounterGroup> groups, std::vector<int> cpus)
    : groups_(std::move(groups)), cpus_(std::move(cpus)) {
  for (const CounterGroup& group : groups_) {
    for (size_t i = 0; i < group.size(); ++i) begins_.push_back(i == 0);
  }
  counters_ = static_cast<uint32_t>(begins_.size());
  fds_.assign(counters_ * cpus_.size(), -1);
  try {
    for (size_t i = 0; i < cpus_.size(); ++i) open_on(i);
  } catch (const CollectorError&) {
    close_all();
    throw;
  }
}

CpuCounters::~CpuCounters() { close_all(); }

void CpuCounters::open_on(size_t cpu_index) {
  uint32_t counter = 0;
  for (const CounterGroup& group : groups_) {
    int leader = -1;
    for (const CounterEvent& event : group) {
      int fd = open_event(event, -1, cpus_[cpu_index], leader);
      if (fd < 0 && errno == EMFILE) {
        raise_descriptor_limit();
        fd = open_event(event, -1, cpus_[cpu_index], leader);
      }
      if (fd < 0) throw CollectorError("counter", errno, event.name + " on CPU " + std::to_string(cpus_[cpu_index]));
      if (leader < 0) leader = fd;
      fds_[counter++ * cpus_.size() + cpu_index] = fd;
    }
    if (!enable_group(leader)) throw CollectorError("counter", errno, group.front().name);
  }
}

void CpuCounters::close_all() {
  for (const int fd : fds_) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace headway
