#include "agent/causal/ledger/ledger.h"

#include <sys/mman.h>

#include <algorithm>

namespace headway::agent::causal {
namespace {

constinit Ledger the_ledger;
constexpr int64_t kRecentNs = 20'000'000;

// a * b / c without overflow; a, b, c >= 0, b <= c.
int64_t part_of(int64_t a, int64_t b, int64_t c) noexcept {
  return static_cast<int64_t>(static_cast<double>(a) * (static_cast<double>(b) / static_cast<double>(c)));
}

void raise(std::atomic<uint32_t>& value, uint32_t least) noexcept {
  uint32_t now = value.load(std::memory_order_relaxed);
  while (now < least && !value.compare_exchange_weak(now, least, std::memory_order_release)) {
  }
}

}  // namespace

Ledger& ledger() noexcept { return the_ledger; }

bool Ledger::reserve() noexcept {
  if (accounts_ != nullptr) return true;
  constexpr size_t kBytes = size_t{kAccounts} * sizeof(DelayAccount);
  void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  madvise(at, kBytes, MADV_NOHUGEPAGE);  // or the first account costs 2 MB
  accounts_ = static_cast<DelayAccount*>(at);
  return true;
}

void Ledger::release() noexcept {
  if (accounts_ != nullptr) munmap(accounts_, size_t{kAccounts} * sizeof(DelayAccount));
  accounts_ = nullptr;
}

// --- threads ---------------------------------------------------------------------------------------------------------

DelayAccount* Ledger::open(uint64_t java_id, uint32_t tid) noexcept {
  const auto low = static_cast<uint32_t>(java_id);
  for (uint32_t probe = 0; accounts_ != nullptr && low != 0 && probe < kMostProbes; ++probe) {
    DelayAccount& account = accounts_[(low + probe) % kAccounts];
    uint64_t free = 0;
    if (account.java_id.load(std::memory_order_relaxed) != 0) continue;
    // The number last, so that nobody sees what an earlier thread left: reserved by a number that no thread has.
    constexpr uint64_t kReserved = uint64_t{1} << 32;
    if (!account.java_id.compare_exchange_strong(free, kReserved, std::memory_order_acquire)) continue;
    account.paid.store(delay_.load(std::memory_order_acquire), std::memory_order_relaxed);
    account.wait_from.store(0, std::memory_order_relaxed);
    account.woken_at.store(0, std::memory_order_relaxed);
    account.tid.store(tid, std::memory_order_relaxed);
    account.is_settling.store(false, std::memory_order_relaxed);
    account.reads_own.store(false, std::memory_order_relaxed);
    account.stop_word.store(nullptr, std::memory_order_relaxed);
    account.looked = {0, 0, -1};
    account.recent = {0, 0, 0};
    account.looked_owed = account.waited_ns = account.wait_from_ns = 0;
    account.own_asleep.store(0, std::memory_order_relaxed);
    account.looked_asleep = account.wait_asleep = asleep_ns(account);
    for (auto* sum : {&account.spun_ns, &account.slept_ns, &account.overslept_ns}) {
      sum->store(0, std::memory_order_relaxed);
    }
    account.sleeps_until.store(0, std::memory_order_relaxed);
    account.sleeps_in_line.store(0, std::memory_order_relaxed);
    account.sleeps_in_target.store(false, std::memory_order_relaxed);
    account.sleep_counted.store(0, std::memory_order_relaxed);
    raise(most_probes_, probe);
    raise(used_, (low + probe) % kAccounts + 1);
    account.java_id.store(java_id, std::memory_order_release);
    open_.fetch_add(1, std::memory_order_relaxed);
    return &account;
  }
  unprofiled_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

DelayAccount* Ledger::find_or_open(uint64_t java_id, uint32_t tid, bool& is_new) noexcept {
  const std::lock_guard<std::mutex> one_at_a_time(opening_);
  DelayAccount* account = find(static_cast<uint32_t>(java_id));
  is_new = account == nullptr;
  if (account == nullptr) return open(java_id, tid);
  account->tid.store(tid, std::memory_order_relaxed);
  return account;
}

void Ledger::close(DelayAccount& account) noexcept {
  account.tid.store(0, std::memory_order_relaxed);
  account.java_id.store(0, std::memory_order_release);
  open_.fetch_sub(1, std::memory_order_relaxed);
}

DelayAccount* Ledger::find(uint32_t java_id) const noexcept {
  if (accounts_ == nullptr || java_id == 0) return nullptr;
  const uint32_t most = most_probes_.load(std::memory_order_acquire);
  for (uint32_t probe = 0; probe <= most; ++probe) {
    DelayAccount& account = accounts_[(java_id + probe) % kAccounts];
    if (static_cast<uint32_t>(account.java_id.load(std::memory_order_acquire)) == java_id) return &account;
  }
  return nullptr;
}

DelayAccount* Ledger::find_tid(uint32_t tid) const noexcept {
  DelayAccount* found = nullptr;
  each([&](DelayAccount& account) {
    if (account.tid.load(std::memory_order_relaxed) == tid) found = &account;
  });
  return found;
}

// --- experiments -----------------------------------------------------------------------------------------------------

// First the number, so that hits of the old experiment cease; then the base, so that whoever sees the new delay sees
// the new base too (the other way round a thread would seem to owe a minute). A hit that has passed its look at the
// number meanwhile adds to the old delay, or fails.
uint32_t Ledger::begin_experiment() noexcept {
  const uint32_t number = experiment_.fetch_add(1) + 1;
  int64_t delay = delay_.load();
  int64_t next = 0;
  do {
    next = delay + 2 * kMostCredit;
    base_.store(next);
  } while (!delay_.compare_exchange_strong(delay, next));
  shared_.store(0, std::memory_order_relaxed);
  return number;
}

int64_t Ledger::delay_ns() const noexcept {
  const int64_t delay = delay_.load(std::memory_order_acquire);
  // Between two experiments the base is ahead.
  return std::max<int64_t>(delay - base_.load(std::memory_order_acquire), 0) + shared_.load(std::memory_order_relaxed);
}

bool Ledger::raise_delay(int64_t delay_ns, uint32_t experiment) noexcept {
  int64_t delay = delay_.load();
  do {
    if (experiment_.load() != experiment) return false;
  } while (!delay_.compare_exchange_weak(delay, delay + delay_ns));
  return true;
}

bool Ledger::hit(DelayAccount& account, int64_t delay_ns, uint32_t experiment) noexcept {
  if (delay_ns <= 0) return true;
  if (!raise_delay(delay_ns, experiment)) return false;
  add_paid(account, delay_ns);
  return true;
}

bool Ledger::stop_all(int64_t delay_ns, uint32_t experiment) noexcept {
  if (!raise_delay(delay_ns, experiment)) return false;
  asleep_.fetch_add(delay_ns, std::memory_order_relaxed);
  return true;
}

bool Ledger::hit_asleep(DelayAccount& account, int64_t delay_ns, uint32_t experiment) noexcept {
  if (!hit(account, delay_ns, experiment)) return false;
  account.own_asleep.fetch_add(delay_ns, std::memory_order_relaxed);
  asleep_.fetch_add(delay_ns, std::memory_order_relaxed);
  return true;
}

// What is forgiven here is no sleeper's part of its debt any more: else as much of what runners added would be taken
// for that, and the wait for a core would not excuse it.
void Ledger::excuse_hit(DelayAccount& account, int64_t ns, uint32_t experiment) noexcept {
  if (experiment_.load() != experiment) return;
  add_paid(account, ns);
  account.own_asleep.fetch_add(ns, std::memory_order_relaxed);
}

int64_t Ledger::asleep_ns(const DelayAccount& account) const noexcept {
  return asleep_.load(std::memory_order_relaxed) - account.own_asleep.load(std::memory_order_relaxed);
}

// --- paying ----------------------------------------------------------------------------------------------------------

int64_t Ledger::owed_ns(const DelayAccount& account) const noexcept {
  const int64_t delay = delay_.load(std::memory_order_acquire);
  const int64_t base = base_.load(std::memory_order_acquire);
  return delay - std::max(account.paid.load(std::memory_order_relaxed), base);
}

bool Ledger::is_in_debt(DelayAccount& account) noexcept {
  if (owed_ns(account) > 0) return true;
  if (account.paid.load(std::memory_order_relaxed) < base_.load(std::memory_order_acquire)) add_paid(account, 0);
  return false;
}

// The thread itself, its signal handler in the middle of that, or who saw it sleep.
void Ledger::add_paid(DelayAccount& account, int64_t ns) noexcept {
  const int64_t delay = delay_.load(std::memory_order_acquire);
  const int64_t base = base_.load(std::memory_order_acquire);
  int64_t paid = account.paid.load(std::memory_order_relaxed);
  int64_t next = 0;
  do {
    next = std::min(std::max(paid, base) + ns, std::max(delay, base) + kMostCredit);
  } while (!account.paid.compare_exchange_weak(paid, next, std::memory_order_relaxed));
}

void Ledger::pay(DelayAccount& account, int64_t ns, uint32_t experiment) noexcept {
  if (experiment_.load(std::memory_order_acquire) != experiment) return;
  add_paid(account, ns);
  account.looked_owed -= ns;
}

void Ledger::look(DelayAccount& account, const Clocks& now) noexcept {
  account.looked = now;
  account.looked_owed = owed_ns(account);
  account.looked_asleep = asleep_ns(account);
  account.waited_ns = 0;
}

// Others' hits come at an even rate for each core that is theirs: all cores while this thread waits for one or sleeps,
// all but one while it runs. (Time in waits that are excused already, and what was added in it, is left out on both
// sides.) On one core so, with nobody asleep, nothing is owed at all: others can only have hit while this one waited.
// Hits come in lumps of a sample, some after the time they stand for, so the shares are those of a time that is longer
// than that. What sleepers' hits added has nothing to do with cores.
void Ledger::excuse(DelayAccount& account, const Clocks& now, bool burns) noexcept {
  const Clocks before = account.looked;
  const int64_t others = owed_ns(account) - account.looked_owed;
  if (others > 0 && before.run_delay_ns >= 0 && now.run_delay_ns >= 0) {
    const int64_t wall = std::max<int64_t>(now.wall_ns - before.wall_ns - account.waited_ns, 0);
    const int64_t runnable = std::clamp<int64_t>(now.run_delay_ns - before.run_delay_ns, 0, wall);
    const int64_t running = std::clamp<int64_t>(now.cpu_ns - before.cpu_ns, 0, wall - runnable);
    Clocks& recent = account.recent;
    const int64_t kept = std::clamp<int64_t>(kRecentNs - wall, 0, recent.wall_ns);
    if (recent.wall_ns > 0) {
      recent.run_delay_ns = part_of(recent.run_delay_ns, kept, recent.wall_ns);
      recent.cpu_ns = part_of(recent.cpu_ns, kept, recent.wall_ns);
    }
    recent.wall_ns = kept + wall;
    recent.run_delay_ns += runnable;
    recent.cpu_ns += running;
    const int64_t cores = std::max(cores_.load(std::memory_order_relaxed), 1);
    const int64_t weighed = cores * (recent.wall_ns - recent.cpu_ns) + (cores - 1) * recent.cpu_ns;
    int64_t excused = 0;
    const int64_t asleep = std::clamp<int64_t>(asleep_ns(account) - account.looked_asleep, 0, others);
    if (weighed > 0) excused = part_of(others - asleep, std::min(cores * recent.run_delay_ns, weighed), weighed);
    if (burns && recent.wall_ns > 0) excused += part_of(asleep, recent.run_delay_ns, recent.wall_ns);
    // Its sleep was a wait for another thread of the program, which ran in that time, and most of all then.
    if (account.reads_own.load(std::memory_order_relaxed)) {
      excused = std::max(excused, std::min(others, wall - running));
    }
    add_paid(account, excused);
  }
  look(account, now);
}

// --- waiting ---------------------------------------------------------------------------------------------------------

void Ledger::wait_begins(DelayAccount& account, int64_t now_ns) noexcept {
  account.wait_from_ns = now_ns;
  account.wait_asleep = asleep_ns(account);
  account.woken_at.store(0, std::memory_order_relaxed);
  account.wait_from.store(delay_.load(std::memory_order_acquire), std::memory_order_release);
}

void Ledger::woken(DelayAccount& account, const DelayAccount& waker, int64_t now_ns) noexcept {
  if (account.wait_from.load(std::memory_order_acquire) == 0) return;
  int64_t nobody = 0;
  if (account.woken_at.load(std::memory_order_relaxed) != nobody) return;
  const int64_t owed = std::max<int64_t>(owed_ns(waker), 0);
  const int64_t delay = delay_.load(std::memory_order_acquire) - owed;
  if (account.woken_at.compare_exchange_strong(nobody, delay, std::memory_order_relaxed)) {
    account.woken_ns.store(now_ns, std::memory_order_relaxed);
  }
}

// The delay may be that of a later experiment than the wait's begin: then what accrued in the earlier one is forgiven.
bool Ledger::wait_ends(DelayAccount& account, WaitEnding ending, int64_t now_ns) noexcept {
  const int64_t from = account.wait_from.exchange(0, std::memory_order_acq_rel);
  if (from == 0 || ending == WaitEnding::kTimedOut) return false;
  int64_t until = delay_.load(std::memory_order_acquire);
  if (ending == WaitEnding::kAsMarked) {
    until = account.woken_at.load(std::memory_order_relaxed);
    if (until == 0) return false;
    const int64_t woken_ns = account.woken_ns.load(std::memory_order_relaxed);
    if (woken_ns != 0) now_ns = std::min(now_ns, woken_ns);
  }
  const int64_t base = base_.load(std::memory_order_acquire);
  const int64_t excused = std::max(until, base) - std::max(from, base);
  if (excused > 0) {
    add_paid(account, excused);
    account.looked_asleep += std::clamp<int64_t>(asleep_ns(account) - account.wait_asleep, 0, excused);
  }
  if (account.wait_from_ns != 0 && now_ns > account.wait_from_ns) account.waited_ns += now_ns - account.wait_from_ns;
  return true;
}

}  // namespace headway::agent::causal
