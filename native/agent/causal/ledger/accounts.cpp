#include "agent/causal/ledger/accounts.h"

#include <stdio.h>
#include <unistd.h>

#include <atomic>

#include "agent/causal/ledger/settle.h"

namespace headway::agent::causal {
namespace {

std::atomic<uint64_t> late{0};
std::atomic<uint32_t> threads_seen{0};
// Of threads that ended; those of living ones are in their accounts.
std::atomic<int64_t> ended_spun_ns{0};
std::atomic<int64_t> ended_slept_ns{0};
std::atomic<int64_t> ended_overslept_ns{0};

bool has_exited(uint32_t tid) {
  char path[48];
  snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
  return access(path, F_OK) != 0;
}

}  // namespace

// Between two recordings nobody tells of threads that end. One that ends just now closes its account before its OS
// thread is gone: so what is still open after that is nobody's.
void close_ended_accounts() noexcept {
  ledger().each([](DelayAccount& account) {
    const uint64_t java_id = account.java_id.load(std::memory_order_acquire);
    const uint32_t tid = account.tid.load(std::memory_order_relaxed);
    if (tid == 0 || !has_exited(tid)) return;
    if (account.java_id.load(std::memory_order_acquire) == java_id) ledger().close(account);
  });
}

void clear_payments() noexcept {
  uint32_t open = 0;
  ledger().each([&open](DelayAccount& account) {
    for (auto* sum : {&account.spun_ns, &account.slept_ns, &account.overslept_ns}) sum->store(0);
    ++open;
  });
  late = 0;
  threads_seen = open;
  ledger().clear_unprofiled();
  clear_run_delays();
  for (auto* sum : {&ended_spun_ns, &ended_slept_ns, &ended_overslept_ns}) sum->store(0);
}

Payments payments() noexcept {
  Payments sums{late.load(std::memory_order_relaxed),
                ended_spun_ns.load(std::memory_order_relaxed),
                ended_slept_ns.load(std::memory_order_relaxed),
                ended_overslept_ns.load(std::memory_order_relaxed),
                threads_seen.load(std::memory_order_relaxed),
                ledger().unprofiled_threads(),
                run_delays().read,
                run_delays().unknown};
  ledger().each([&](const DelayAccount& account) {
    sums.spin_ns += account.spun_ns.load(std::memory_order_relaxed);
    sums.slept_ns += account.slept_ns.load(std::memory_order_relaxed);
    sums.overslept_ns += account.overslept_ns.load(std::memory_order_relaxed);
  });
  return sums;
}

uint32_t program_threads(uint32_t* tids, uint32_t room) noexcept {
  uint32_t count = 0;
  ledger().each([&](const DelayAccount& account) {
    const uint32_t tid = account.tid.load(std::memory_order_relaxed);
    if (tid != 0 && count < room) tids[count++] = tid;
  });
  return count;
}

void settle_sample(DelayAccount& account, bool may_pay) noexcept {
  if (may_pay) {
    settle(account, PayIn::kJava);
  } else if (ledger().is_in_debt(account)) {
    late.fetch_add(1, std::memory_order_relaxed);
  }
}

bool is_waiting(const DelayAccount& account) noexcept { return account.wait_from.load(std::memory_order_relaxed) != 0; }
int64_t spun_ns(const DelayAccount& account) noexcept { return account.spun_ns.load(std::memory_order_relaxed); }

void count_new_thread() noexcept { threads_seen.fetch_add(1, std::memory_order_relaxed); }

void close_account(DelayAccount& account) noexcept {
  ended_spun_ns.fetch_add(account.spun_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ended_slept_ns.fetch_add(account.slept_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ended_overslept_ns.fetch_add(account.overslept_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ledger().close(account);
}

}  // namespace headway::agent::causal
