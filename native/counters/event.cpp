#include "counters/event.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace headway {

int open_event(const CounterEvent& event, pid_t pid, int cpu, int leader, Reading reading) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  attr.bp_type = event.bp_type;
  attr.exclude_kernel = event.user_only;
  attr.exclude_user = event.kernel_only;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  if (reading == Reading::kWholeGroup) attr.read_format |= PERF_FORMAT_GROUP;
  // The group begins when all are in it: a member that joins one that counts already reads 0 in BPF for good.
  attr.disabled = leader < 0;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC));
}

bool enable_group(int leader) { return ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0; }

bool read_event(int fd, EventTotals* totals) {
  uint64_t words[3];
  const ssize_t got = read(fd, words, sizeof words);
  if (got != sizeof words) {
    if (got >= 0) errno = EIO;  // in error state: the kernel gave its counter away
    return false;
  }
  *totals = {words[0], words[1], words[2]};
  return true;
}

bool read_group(int leader, std::span<EventTotals> totals) {
  std::vector<uint64_t> words(3 + totals.size());  // how many, enabled, running, and then the counts
  const auto bytes = static_cast<ssize_t>(words.size() * sizeof words[0]);
  const ssize_t got = read(leader, words.data(), static_cast<size_t>(bytes));
  if (got != bytes) {
    if (got >= 0) errno = EIO;
    return false;
  }
  for (size_t i = 0; i < totals.size(); ++i) totals[i] = {words[3 + i], words[1], words[2]};
  return true;
}

}  // namespace headway
