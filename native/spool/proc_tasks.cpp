#include "spool/proc_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

#include "spool/spool_writer.h"

namespace headway {
namespace {

std::string task_path(pid_t pid, pid_t tid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
}

// The whole of a small file of /proc (its content is made at the first read); empty when it can't be read.
std::string slurp(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(4096, '\0');
  size_t used = 0;
  for (ssize_t n = 0; (n = ::read(fd, text.data() + used, text.size() - used)) > 0;) {
    used += static_cast<size_t>(n);
    if (used == text.size()) text.resize(2 * used);
  }
  ::close(fd);
  text.resize(used);
  return text;
}

// /proc's start times count from boot, suspends included; ours are CLOCK_MONOTONIC, which stops while suspended.
int64_t boot_minus_monotonic_ns() {
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  return int64_t{boot.tv_sec} * 1'000'000'000 + boot.tv_nsec - monotonic_ns();
}

// The thread's number in its own, innermost pid namespace: the last field of NSpid.
uint32_t own_namespace_tid(pid_t pid, pid_t tid) {
  const std::string status = slurp(task_path(pid, tid, "status"));
  const size_t at = status.find("\nNSpid:");
  if (at == std::string::npos) return static_cast<uint32_t>(tid);
  const size_t end = status.find('\n', at + 1);
  const size_t last = status.find_last_of("\t ", end);
  return static_cast<uint32_t>(strtoul(status.c_str() + last + 1, nullptr, 10));
}

std::vector<pid_t> list_numbers(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
  if (!dir) return numbers;
  while (const dirent* entry = readdir(dir.get())) {
    const long number = strtol(entry->d_name, nullptr, 10);
    if (number > 0) numbers.push_back(static_cast<pid_t>(number));
  }
  return numbers;
}

}  // namespace

std::optional<pid_t> thread_group_of(pid_t tid) {
  const std::string status = slurp("/proc/" + std::to_string(tid) + "/status");
  int group = 0;
  const size_t at = status.find("\nTgid:");
  if (at == std::string::npos || sscanf(status.c_str() + at, "\nTgid: %d", &group) != 1) return std::nullopt;
  return group;
}

std::vector<pid_t> list_threads(pid_t pid) { return list_numbers("/proc/" + std::to_string(pid) + "/task"); }

// Not from /proc/PID/task/TID/children: that file takes CONFIG_PROC_CHILDREN, and skips children that exit meanwhile.
std::vector<pid_t> list_descendants(pid_t pid) {
  std::vector<std::pair<pid_t, pid_t>> parents_of;
  for (const pid_t each : list_numbers("/proc")) {
    if (const auto snapshot = read_snapshot(each, each)) {
      parents_of.emplace_back(each, static_cast<pid_t>(snapshot->parent_pid));
    }
  }
  std::vector<pid_t> found{pid};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [child, parent] : parents_of) {
      if (parent == found[i]) found.push_back(child);
    }
  }
  found.erase(found.begin());
  return found;
}

std::optional<hw_snapshot> read_snapshot(pid_t pid, pid_t tid) {
  hw_snapshot snapshot{};
  snapshot.head = {monotonic_ns(), HW_SNAPSHOT, sizeof snapshot, static_cast<hw_u32>(tid)};
  const std::string stat = slurp(task_path(pid, tid, "stat"));
  // The name may hold anything, parentheses and newlines too: the fields go on after the last closing one.
  const size_t open = stat.find('(');
  const size_t close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 2 >= stat.size()) return std::nullopt;
  snapshot.pid = static_cast<hw_u32>(pid);
  const size_t name_bytes = std::min<size_t>(close - open - 1, HW_COMM_BYTES - 1);
  memcpy(snapshot.comm, stat.data() + open + 1, name_bytes);
  char state = 0;
  int parent = 0;
  uint64_t start_ticks = 0;
  // state ppid pgrp session tty_nr tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime priority nice
  // num_threads itrealvalue starttime: man 5 proc
  const int got = sscanf(stat.c_str() + close + 2,
                         "%c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64, &state,
                         &parent, &start_ticks);
  if (got != 3) return std::nullopt;
  snapshot.state = static_cast<unsigned char>(state);
  snapshot.parent_pid = static_cast<hw_u32>(parent);
  const int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  snapshot.start_ns = static_cast<int64_t>(start_ticks) * tick_ns - boot_minus_monotonic_ns();
  snapshot.ns_tid = own_namespace_tid(pid, tid);
  if (const auto totals = read_schedstat(pid, tid)) snapshot.exec_ns = totals->exec_ns;
  return snapshot;
}

std::optional<hw_schedstat> read_schedstat(pid_t pid, pid_t tid) {
  const std::string text = slurp(task_path(pid, tid, "schedstat"));
  hw_schedstat totals{};
  if (sscanf(text.c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64, &totals.exec_ns, &totals.run_delay_ns,
             &totals.timeslices) != 3) {
    return std::nullopt;
  }
  totals.head = {monotonic_ns(), HW_SCHEDSTAT, sizeof totals, static_cast<hw_u32>(tid)};
  totals.pid = static_cast<hw_u32>(pid);
  return totals;
}

}  // namespace headway
