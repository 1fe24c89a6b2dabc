#include "agent/causal/sampling/timers.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "agent/core/id_table.h"
#include "agent/core/old_glibc.h"

// Older C libraries have no name for the thread that a signal goes to.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace headway::agent::causal {
namespace {

constexpr int64_t kMostDescriptors = 4096;
constexpr int64_t kSecond = 1'000'000'000;

struct Timers {
  int signal = 0;
  int64_t period_ns = 0;
  std::atomic<bool> perf{false};
  bool with_kernel = false;             // time in the kernel ticks, too
  int64_t allowed = 0;                  // descriptors
  std::atomic<int64_t> descriptors{0};  // in use
};
Timers timers;

// The kernel's CPUCLOCK: a thread's scheduled time, for clock_gettime and timer_create.
clockid_t clock_of(uint32_t tid) { return static_cast<clockid_t>((~tid << 3) | 6); }

// Each thread has a period of its own, from 0.8 to 1.2 times what was asked for: else samples would go in step with
// rounds of the program that take just as long, and with each other.
int64_t period_of(uint32_t tid) {
  const uint64_t spread = mix(static_cast<uint64_t>(timers.period_ns), tid) % 401;
  return timers.period_ns * static_cast<int64_t>(800 + spread) / 1000;
}

int open_task_clock(uint32_t tid, bool with_kernel) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof(attr);
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = static_cast<uint64_t>(period_of(tid));
  attr.wakeup_events = 1;
  attr.disabled = 1;
  attr.exclude_kernel = with_kernel ? 0 : 1;
  attr.exclude_hv = 1;
  // Children inherit neither event (attr.inherit is off) nor, past an exec, the descriptor.
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, static_cast<pid_t>(tid), -1, -1, PERF_FLAG_FD_CLOEXEC));
}

bool send_signals(int fd, uint32_t tid) {
  const f_owner_ex owner{F_OWNER_TID, static_cast<pid_t>(tid)};
  return fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && fcntl(fd, F_SETSIG, timers.signal) == 0 &&
         fcntl(fd, F_SETOWN_EX, &owner) == 0 && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

// Behind descriptors of this kind there is no file of any type; which event it is, only such a one tells.
bool is_event(int fd, uint64_t event) {
  struct stat status {};
  uint64_t found = 0;
  return file_status(fd, &status) == 0 && (status.st_mode & S_IFMT) == 0 && ioctl(fd, PERF_EVENT_IOC_ID, &found) == 0 &&
         found == event;
}

bool start_perf(CpuTimer& timer, uint32_t tid) {
  if (timers.descriptors.fetch_add(1, std::memory_order_relaxed) < timers.allowed) {
    const int fd = open_task_clock(tid, timers.with_kernel);
    uint64_t event = 0;
    if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_ID, &event) == 0 && send_signals(fd, tid)) {
      timer.kind = CpuTimer::Kind::kPerf;
      timer.fd = fd;
      timer.event = event;
      timer.period_ns = period_of(tid);
      return true;
    }
    if (fd >= 0) close(fd);
  }
  timers.descriptors.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool start_posix(CpuTimer& timer, uint32_t tid) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = timers.signal;
  event.sigev_notify_thread_id = static_cast<pid_t>(tid);
  if (!create_timer(clock_of(tid), event, timer.timer)) return false;
  timer.period_ns = period_of(tid);
  const timespec period{timer.period_ns / kSecond, timer.period_ns % kSecond};
  const itimerspec times{period, period};
  if (!set_timer(timer.timer, times)) {
    delete_timer(timer.timer);
    return false;
  }
  timer.kind = CpuTimer::Kind::kPosix;
  return true;
}

bool can_open(bool with_kernel) {
  const int fd = open_task_clock(static_cast<uint32_t>(syscall(SYS_gettid)), with_kernel);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

}  // namespace

void prepare_timers(int signal, int64_t period_ns) noexcept {
  timers.signal = signal;
  timers.period_ns = period_ns;
  rlimit limit{};
  const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  timers.allowed = is_known ? static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur / 4, kMostDescriptors)) : 0;
  timers.with_kernel = can_open(true);
  timers.perf = timers.allowed > 0 && (timers.with_kernel || can_open(false));
}

bool perf_is_allowed() noexcept { return timers.perf; }

CpuTimer start_timer(uint32_t tid) noexcept {
  CpuTimer timer;
  if (!timers.perf || !start_perf(timer, tid)) start_posix(timer, tid);
  return timer;
}

void stop_timer(CpuTimer& timer) noexcept {
  if (timer.kind == CpuTimer::Kind::kPosix) delete_timer(timer.timer);
  if (timer.kind == CpuTimer::Kind::kPerf) {
    if (!is_lost(timer)) close(timer.fd);
    timers.descriptors.fetch_sub(1, std::memory_order_relaxed);
  }
  timer = {};
}

bool is_lost(const CpuTimer& timer) noexcept {
  return timer.kind == CpuTimer::Kind::kPerf && !is_event(timer.fd, timer.event);
}

void avoid_descriptors() noexcept { timers.perf = false; }

void change_period(CpuTimer& timer, int64_t period_ns) noexcept {
  auto period = static_cast<uint64_t>(period_ns);
  if (timer.kind != CpuTimer::Kind::kPerf || is_lost(timer)) return;
  if (ioctl(timer.fd, PERF_EVENT_IOC_PERIOD, &period) != 0) return;
  timer.period_ns = period_ns;
}

int64_t cpu_ns_of(uint32_t tid) noexcept {
  timespec time{};
  if (clock_gettime(clock_of(tid), &time) != 0) return -1;
  return static_cast<int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

}  // namespace headway::agent::causal
