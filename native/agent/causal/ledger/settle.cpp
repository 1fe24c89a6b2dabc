#include "agent/causal/ledger/settle.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/core/clock.h"
#include "agent/hotspot/stop_word.h"

namespace headway::agent::causal {
namespace {

// Sleepers are woken late: by 50 microseconds (the default timer slack) and by what a wake-up takes, 60 to 150 more on
// a virtual machine. That is credit, but it may come where the program hangs on this thread, and the credit be lost
// where it does not. So the last bit of a sleep is waited for awake, and small debts altogether.
constexpr int64_t kSlackNs = 200'000;
constexpr int64_t kShortestSleepNs = 4'000'000;
// While a thread pays, others' hits go on, and it pays those, too: where the line takes no time, the others stand
// still. But the line may be one that spins until this very thread goes on.
constexpr int64_t kMostBehindNs = 1'000'000'000;
constexpr int64_t kSliceInJavaNs = 1'000'000;  // between looks at whether the JVM wants the thread to stop
constexpr int64_t kLittleNs = 10'000;
constexpr int64_t kStoppedLookNs = 200'000;
constexpr int64_t kMostStoppedNs = 1'000'000'000;  // in a payment; a collection of that length is rare

std::atomic<bool> is_spinning{false};
std::atomic<void (*)()> safepoint_poll{nullptr};
std::atomic<uint64_t> asked{0};
std::atomic<uint64_t> unknown{0};

// The second number of "cpu_ns run_delay_ns timeslices"; where the kernel keeps no account of that, all are 0. By
// system calls: the C library's may be interposed, and its sleeps are cancellation points.
int64_t read_run_delay() noexcept {
  const long file = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[96];
  const long length = syscall(SYS_read, file, text, sizeof(text));
  syscall(SYS_close, file);
  constexpr char kNotKept[] = "0 0 0";
  if (length >= 5 && memcmp(text, kNotKept, 5) == 0) return -1;
  long at = 0;
  while (at < length && text[at] != ' ') ++at;
  if (++at >= length) return -1;
  int64_t value = 0;
  for (; at < length && text[at] >= '0' && text[at] <= '9'; ++at) value = 10 * value + (text[at] - '0');
  return value;
}

// Returns what it took.
int64_t sleep_for(int64_t ns) noexcept {
  const int64_t from_ns = monotonic_ns();
  const timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
  return monotonic_ns() - from_ns;
}

// The mark stays after the JVM goes on: of a thread in native code it is taken back by the thread itself, when that
// next comes out of there. So looking at it alone would hold the thread up for nothing.
void stand_still(const std::atomic<uintptr_t>* stop_word) noexcept {
  if (auto* const poll = safepoint_poll.load(std::memory_order_relaxed)) poll();
  if (StopWord::is_marked(stop_word)) sleep_for(kStoppedLookNs);
}

void add(std::atomic<int64_t>& sum, int64_t ns) noexcept { sum.fetch_add(ns, std::memory_order_relaxed); }

struct Payment {
  DelayAccount& account;
  uint32_t experiment;
  PayIn where;
  // While the JVM wanted all to stop; looking whether it still does takes CPU time, too.
  int64_t stopped_ns = 0;
  int64_t stopped_cpu_ns = 0;
  int64_t paid_ns = 0;

  bool is_called() const noexcept { return StopWord::is_marked(account.stop_word.load(std::memory_order_relaxed)); }
  bool can_be_called() const noexcept { return account.stop_word.load(std::memory_order_relaxed) != nullptr; }
  bool is_on() const noexcept { return ledger().experiment() == experiment; }
  void pay(int64_t ns) noexcept {
    ledger().pay(account, ns, experiment);
    paid_ns += ns;
  }

  // False: to go on paying is for later, or for nobody. While the JVM stops its threads (a safepoint, a collection),
  // who pays must not have a core that those need who have to come by there; and since nobody else gets on meanwhile,
  // this is no payment.
  bool goes_on() noexcept {
    if (!is_called()) return is_on();
    if (where == PayIn::kJava) return false;
    const int64_t from_ns = monotonic_ns();
    const int64_t from_cpu_ns = thread_cpu_ns();
    const int64_t until_ns = from_ns + kMostStoppedNs - stopped_ns;
    while (is_called() && is_on() && monotonic_ns() < until_ns) {
      stand_still(account.stop_word.load(std::memory_order_relaxed));
    }
    stopped_ns += monotonic_ns() - from_ns;
    stopped_cpu_ns += thread_cpu_ns() - from_cpu_ns;
    return is_on();
  }
};

// By CPU time: while the thread stands in a queue for a core, others have that core, and nothing is paid. What was
// spent since `from_cpu_ns` (on reading clocks) counts.
void spin(Payment& payment, int64_t owed_ns, int64_t from_cpu_ns) noexcept {
  int64_t spent_ns = thread_cpu_ns() - from_cpu_ns;
  while (spent_ns < owed_ns && payment.goes_on()) spent_ns = thread_cpu_ns() - from_cpu_ns - payment.stopped_cpu_ns;
  add(payment.account.spun_ns, spent_ns);
  payment.pay(spent_ns);
}

// By the wall's clock: what it overslept is to its credit. A core that it holds meanwhile it gives to whoever wants it:
// the thread in the faster line may be the one that waits for it.
void wait(Payment& payment, int64_t owed_ns, const Clocks& from) noexcept {
  DelayAccount& account = payment.account;
  int64_t took_ns = 0;
  for (;;) {
    const bool goes_on = payment.goes_on();
    took_ns = monotonic_ns() - from.wall_ns - payment.stopped_ns;
    const int64_t left_ns = owed_ns - took_ns;
    if (left_ns <= 0 || !goes_on) break;
    if (left_ns < kShortestSleepNs) {
      sched_yield();
      continue;
    }
    const int64_t most_ns = payment.where == PayIn::kJava ? kSliceInJavaNs : kSliceNs;
    const int64_t asked_ns = std::min(left_ns - kSlackNs, most_ns);
    const int64_t slept_ns = sleep_for(asked_ns);
    add(account.slept_ns, std::min(asked_ns, slept_ns));
    add(account.overslept_ns, std::max<int64_t>(slept_ns - asked_ns, 0));
  }
  // Having waited for a core was part of the payment: no excuse for anything later. Reading that takes a while, too.
  const Clocks now = read_clocks();
  add(account.spun_ns, now.cpu_ns - from.cpu_ns - payment.stopped_cpu_ns);
  payment.pay(std::max(now.wall_ns - from.wall_ns - payment.stopped_ns, took_ns));
  ledger().look(account, now);
}

}  // namespace

void set_spinning(bool spin) noexcept { is_spinning.store(spin, std::memory_order_relaxed); }
void set_safepoint_poll(void (*poll)()) noexcept { safepoint_poll.store(poll, std::memory_order_relaxed); }
RunDelays run_delays() noexcept {
  return {asked.load(std::memory_order_relaxed), unknown.load(std::memory_order_relaxed)};
}
void clear_run_delays() noexcept { asked = unknown = 0; }

Clocks read_clocks() noexcept {
  Clocks clocks{monotonic_ns(), thread_cpu_ns(), read_run_delay()};
  asked.fetch_add(1, std::memory_order_relaxed);
  if (clocks.run_delay_ns < 0) unknown.fetch_add(1, std::memory_order_relaxed);
  return clocks;
}

namespace {

int64_t most_at_once_ns(const Payment& payment) noexcept {
  if (payment.where == PayIn::kNative) return INT64_MAX;
  return payment.can_be_called() ? kMostInJavaNs : kMostUncalledNs;
}

// Returns what it tried to pay.
int64_t settle_once(Payment& payment, int64_t most_ns) noexcept {
  DelayAccount& account = payment.account;
  payment.experiment = ledger().experiment();
  payment.stopped_ns = payment.stopped_cpu_ns = 0;
  const Clocks from = read_clocks();
  const bool burns = is_spinning.load(std::memory_order_relaxed);
  ledger().excuse(account, from, burns);
  const int64_t owed_ns = std::min(ledger().owed_ns(account), most_ns);
  // Reading clocks has cost more than many debts: waiting for less than nothing accounts for that.
  if (burns) {
    spin(payment, owed_ns, from.cpu_ns);
  } else {
    wait(payment, owed_ns, from);
  }
  return std::max<int64_t>(owed_ns, 0);
}

}  // namespace

void settle(DelayAccount& account, PayIn where) noexcept {
  Payment payment{account, 0, where};
  if (!ledger().is_in_debt(account) || (where == PayIn::kJava && payment.is_called())) return;
  if (account.is_settling.exchange(true, std::memory_order_acquire)) return;
  const int saved_errno = errno;
  int64_t most_ns = most_at_once_ns(payment);
  most_ns -= settle_once(payment, most_ns);
  most_ns = std::min(most_ns, kMostBehindNs);
  while (most_ns > 0 && ledger().owed_ns(account) >= kLittleNs && (where == PayIn::kNative || !payment.is_called())) {
    most_ns -= settle_once(payment, most_ns);
  }
  if (payment.is_on()) ledger().stood(payment.paid_ns);
  account.is_settling.store(false, std::memory_order_release);
  errno = saved_errno;
}

}  // namespace headway::agent::causal
