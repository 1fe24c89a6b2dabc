#include "agent/causal/blocking/blocking.h"

#include <array>
#include <atomic>

#include "agent/causal/blocking/thread_accounts.h"
#include "agent/causal/common/activity.h"
#include "agent/causal/ledger/accounts.h"
#include "agent/causal/ledger/settle.h"
#include "agent/causal/sampling/sampling.h"
#include "agent/core/clock.h"
#include "agent/hooks/jdk_hooks.h"
#include "agent/hooks/monitors.h"
#include "agent/jvm/thread_ids.h"
#include "agent/state/state.h"
#include "cpus/cpus.h"

namespace headway::agent::causal {
namespace {

constexpr int kUnmountsOnMonitors = 24;      // JDK: a virtual thread leaves its carrier there too (JEP 491)
constexpr int64_t kTimedWaitNs = 1'000'000;  // shorter ones are no blocked samples

// Virtual threads that wait without leaving their carriers: id in the upper half, the carrier's account + 1 below. One
// that another one overwrites counts as woken by time.
std::array<std::atomic<uint64_t>, 256> pinned;

// --- waits ----------------------------------------------------------------------------------------------------------

// Nothing but the way into the JVM and out again. That is where HotSpot stops a thread for as long as it must and takes
// back the mark; this function may be called with an exception pending as well.
void poll_for_safepoint() noexcept {
  void* env = nullptr;
  if (agent().vm->GetEnv(&env, JNI_VERSION_1_8) == JNI_OK) static_cast<JNIEnv*>(env)->DeleteLocalRef(nullptr);
}

// True where the calling OS thread itself will stand still.
bool stays(JNIEnv* jni, jthread thread) {
  return agent().jdk_major < kUnmountsOnMonitors || !is_virtual_thread(jni, thread);
}

void begin(DelayAccount& account, bool is_timed) {
  settle(account);
  timed_wait_from_ns() = is_timed ? monotonic_ns() : 0;
  ledger().wait_begins(account, is_timed ? timed_wait_from_ns() : time_if_delayed());
}

// A wait that ended by its time: it is what a faster program would have less of, and its thread owes what accrued.
void end(DelayAccount& account, WaitEnding ending) {
  const int64_t from_ns = timed_wait_from_ns();
  if (ledger().wait_ends(account, ending, time_if_delayed())) return;
  if (from_ns != 0 && is_on()) {
    const int64_t waited_ns = monotonic_ns() - from_ns;
    if (waited_ns >= kTimedWaitNs) timed_wait_ended(account, waited_ns);
  }
  settle(account);
}

DelayAccount* pinned_account(uint32_t java_id) {
  const uint64_t entry = pinned[java_id % pinned.size()].load(std::memory_order_acquire);
  if (entry >> 32 != java_id) return nullptr;
  return const_cast<DelayAccount*>(ledger().accounts()) + (static_cast<uint32_t>(entry) - 1);
}

}  // namespace

int64_t time_if_delayed() noexcept { return ledger().has_delays() ? monotonic_ns() : 0; }

// --- on and off -----------------------------------------------------------------------------------------------------

bool start_blocking(JNIEnv* jni) noexcept {
  if (!ledger().reserve()) return false;
  ledger().set_cores(allowed_cpu_count());
  ledger().begin_experiment();
  begin_accounts(jni);
  set_safepoint_poll(poll_for_safepoint);
  if (!install_hooks(jni, HookUse::kCausal)) return false;
  set_monitor_events(true, HookUse::kCausal);
  return true;
}

void stop_blocking(JNIEnv* jni) noexcept {
  ledger().begin_experiment();
  if (jni != nullptr) switch_hooks(jni, false, HookUse::kCausal);
  set_monitor_events(false, HookUse::kCausal);
}

// --- waiting --------------------------------------------------------------------------------------------------------

void wait_begins(JNIEnv* jni, jthread thread, bool is_timed) noexcept {
  DelayAccount* const account = account_here();
  if (account == nullptr) return;
  if (stays(jni, thread)) {
    begin(*account, is_timed);
  } else {
    settle(*account);
  }
}

void wait_ends(JNIEnv* jni, jthread thread, Ending ending) noexcept {
  DelayAccount* const account = account_here();
  if (account == nullptr || !is_waiting(*account) || !stays(jni, thread)) return;
  end(*account, ending == Ending::kWoken ? WaitEnding::kWoken : WaitEnding::kTimedOut);
}

bool park_begins(jint alias, bool is_timed) noexcept {
  DelayAccount* const account = account_here();
  if (account == nullptr) return false;
  const auto java_id = static_cast<uint32_t>(alias);
  if (java_id != 0) {
    const auto place = static_cast<uint32_t>(account - ledger().accounts()) + 1;
    pinned[java_id % pinned.size()].store(uint64_t{java_id} << 32 | place, std::memory_order_release);
  }
  begin(*account, is_timed);
  return true;
}

void park_ends(jint alias, bool is_timed) noexcept {
  DelayAccount* const account = account_here();
  if (account == nullptr) return;
  if (!is_timed) timed_wait_from_ns() = 0;
  end(*account, WaitEnding::kAsMarked);
  if (alias != 0) pinned[static_cast<uint32_t>(alias) % pinned.size()].store(0, std::memory_order_release);
}

void before_waking() noexcept {
  if (DelayAccount* const account = account_here()) settle(*account);
}

void waking(uint32_t java_id) noexcept {
  DelayAccount* const account = account_here();
  if (account == nullptr) return;  // a thread of the JVM, which pays nothing: as a timer would
  settle(*account);
  DelayAccount* woken = ledger().find(java_id);
  if (woken == nullptr) woken = pinned_account(java_id);
  if (woken != nullptr) ledger().woken(*woken, *account, time_if_delayed());
}

}  // namespace headway::agent::causal
