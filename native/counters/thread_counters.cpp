#include "counters/thread_counters.h"

#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

namespace headway {
namespace {

void close_all(const std::vector<int>& fds) {
  for (const int fd : fds) close(fd);
}

}  // namespace

ThreadCounters::ThreadCounters(std::vector<CounterGroup> groups) : groups_(std::move(groups)) {}

ThreadCounters::~ThreadCounters() {
  for (const auto& [tid, fds] : fds_) close_all(fds);
}

int ThreadCounters::add(pid_t tid) {
  remove(tid);  // the number of a thread that has ended may be another's now
  std::vector<int> fds;
  for (const CounterGroup& group : groups_) {
    int leader = -1;
    for (const CounterEvent& event : group) {
      const int fd = open_event(event, tid, -1, leader, Reading::kWholeGroup);
      if (fd < 0) {
        const int reason = errno;
        close_all(fds);
        return reason;
      }
      if (leader < 0) leader = fd;
      fds.push_back(fd);
    }
    if (leader >= 0 && !enable_group(leader)) {
      const int reason = errno;
      close_all(fds);
      return reason;
    }
  }
  fds_.emplace(tid, std::move(fds));
  return 0;
}

void ThreadCounters::remove(pid_t tid) {
  const auto found = fds_.find(tid);
  if (found == fds_.end()) return;
  close_all(found->second);
  fds_.erase(found);
}

bool ThreadCounters::read(pid_t tid, std::vector<EventTotals>* totals) const {
  const auto found = fds_.find(tid);
  if (found == fds_.end()) return false;
  totals->resize(found->second.size());
  size_t first = 0;
  for (const CounterGroup& group : groups_) {
    if (!read_group(found->second[first], std::span(*totals).subspan(first, group.size()))) return false;
    first += group.size();
  }
  return true;
}

}  // namespace headway
