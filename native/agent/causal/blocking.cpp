// When threads of the program wait, wake others, begin and end (docs/decisions/0008-causal.md).
//
// Accounts belong to OS threads. A virtual thread that leaves its carrier while it waits has none of its own: what it
// does counts for the carrier, and what accrues while it is away is nobody's.
#include "agent/causal/blocking.h"

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "agent/causal/causal.h"
#include "agent/causal/ledger.h"
#include "agent/causal/settle.h"
#include "agent/causal/stop_word.h"
#include "agent/hooks.h"
#include "agent/locks.h"
#include "agent/monitors.h"

namespace headway::agent::causal {
namespace {

constexpr int kUnmountsOnMonitors = 24;      // JDK: a virtual thread leaves its carrier there too (JEP 491)
constexpr int64_t kTimedWaitNs = 1'000'000;  // shorter ones are no blocked samples
constexpr int64_t kToldSleepNs = 100'000;    // shorter ones take as long as telling of them, and waking up

// Touched when the thread begins or first waits, so that a signal handler on it causes no allocation of it.
struct Here {
  Account* account = nullptr;
  uint32_t sought = 0;        // in which recording; the account of a thread that lived before it is found by its number
  int64_t timed_from_ns = 0;  // when a wait with a time limit began
};
thread_local Here here;

std::atomic<uint32_t> recording_number{0};
StopWord stop_word;  // found before the first account is opened
std::atomic<uint64_t> late{0};
std::atomic<uint32_t> threads_seen{0};
// Of threads that ended; those of living ones are in their accounts.
std::atomic<int64_t> ended_spun_ns{0};
std::atomic<int64_t> ended_slept_ns{0};
std::atomic<int64_t> ended_overslept_ns{0};

// Virtual threads that wait without leaving their carriers: id in the upper half, the carrier's account + 1 below. One
// that another one overwrites counts as woken by time.
std::array<std::atomic<uint64_t>, 256> pinned;

uint32_t this_tid() noexcept { return static_cast<uint32_t>(syscall(SYS_gettid)); }

// The time, where it matters: when nobody can owe anything it is not asked for.
int64_t time_if_delayed() noexcept { return ledger().has_delays() ? now_ns() : 0; }

// Not in a signal handler.
Account* account_here() noexcept {
  const uint32_t number = recording_number.load(std::memory_order_relaxed);
  if (here.account == nullptr && here.sought != number) {
    here.sought = number;
    here.account = ledger().find_tid(this_tid());
  }
  return here.account;
}

// --- whose threads --------------------------------------------------------------------------------------------------

// The JVM's own threads, and headway's, are in its own thread groups; carriers of virtual threads, which are as well,
// run the program.
bool is_programs(JNIEnv* jni, jthread thread) {
  jvmtiEnv* jvmti = agent().jvmti;
  jvmtiThreadInfo info{};
  if (jvmti->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return false;
  jvmtiThreadGroupInfo group{};
  bool is_jvms = info.thread_group == nullptr;  // it has ended
  if (!is_jvms && jvmti->GetThreadGroupInfo(info.thread_group, &group) == JVMTI_ERROR_NONE) {
    const std::string_view name = group.name == nullptr ? "" : group.name;
    is_jvms = (group.parent == nullptr && name == "system") || name == "InnocuousThreadGroup";
    jvmti->Deallocate(reinterpret_cast<unsigned char*>(group.name));
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.name));
  jni->DeleteLocalRef(info.thread_group);
  jni->DeleteLocalRef(info.context_class_loader);
  jni->DeleteLocalRef(group.parent);
  return !is_jvms;
}

Account* open_account(JNIEnv* jni, jthread thread, uint32_t tid) {
  const uint64_t java_id = java_thread_id(jni, thread);
  if (java_id == 0 || tid == 0 || !is_programs(jni, thread)) return nullptr;
  bool is_new = false;
  Account* const account = ledger().find_or_open(java_id, tid, is_new);
  if (is_new) threads_seen.fetch_add(1, std::memory_order_relaxed);
  if (account != nullptr && agent().thread_eetop != nullptr) {
    account->stop_word = stop_word.of(jni->GetLongField(thread, agent().thread_eetop));
  }
  return account;
}

bool is_gone(uint32_t tid) {
  char path[48];
  snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
  return access(path, F_OK) != 0;
}

// Between two recordings nobody tells of threads that end. One that ends just now closes its account before its OS
// thread is gone: so what is still open after that is nobody's.
void close_ended() {
  ledger().each([](Account& account) {
    const uint64_t java_id = account.java_id.load(std::memory_order_acquire);
    const uint32_t tid = account.tid.load(std::memory_order_relaxed);
    if (tid == 0 || !is_gone(tid)) return;
    if (account.java_id.load(std::memory_order_acquire) == java_id) ledger().close(account);
  });
}

// What payments cost is told per recording.
void clear_payments() {
  uint32_t open = 0;
  ledger().each([&open](Account& account) {
    for (auto* sum : {&account.spun_ns, &account.slept_ns, &account.overslept_ns}) sum->store(0);
    ++open;
  });
  late = 0;
  threads_seen = open;
  ledger().clear_unprofiled();
  clear_run_delays();
  for (auto* sum : {&ended_spun_ns, &ended_slept_ns, &ended_overslept_ns}) sum->store(0);
}

// Those that began before the recording. 0: it ended meanwhile, or has not begun.
void open_living(JNIEnv* jni) {
  jint count = 0;
  jthread* threads = nullptr;
  if (agent().thread_eetop == nullptr) return;
  if (agent().jvmti->GetAllThreads(&count, &threads) != JVMTI_ERROR_NONE) return;
  std::vector<int64_t> found;
  found.reserve(static_cast<size_t>(count));
  for (jint i = 0; i < count; ++i) found.push_back(jni->GetLongField(threads[i], agent().thread_eetop));
  stop_word.find(found);
  for (jint i = 0; i < count; ++i) {
    const jlong eetop = jni->GetLongField(threads[i], agent().thread_eetop);
    const pid_t tid = agent().hotspot.os_thread_id(eetop);
    const bool is_alive = jni->GetLongField(threads[i], agent().thread_eetop) == eetop && tid > 0;
    if (is_alive) open_account(jni, threads[i], static_cast<uint32_t>(tid));
    jni->DeleteLocalRef(threads[i]);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
}

int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

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

void begin(Account& account, bool is_timed) {
  settle(account);
  here.timed_from_ns = is_timed ? now_ns() : 0;
  ledger().wait_begins(account, is_timed ? here.timed_from_ns : time_if_delayed());
}

// A wait that ended by its time: it is what a faster program would have less of, and its thread owes what accrued.
void end(Account& account, WaitEnding ending) {
  const int64_t from_ns = here.timed_from_ns;
  if (ledger().wait_ends(account, ending, time_if_delayed())) return;
  if (from_ns != 0 && is_on()) {
    const int64_t waited_ns = now_ns() - from_ns;
    if (waited_ns >= kTimedWaitNs) timed_wait_ended(account, waited_ns);
  }
  settle(account);
}

Account* pinned_account(uint32_t java_id) {
  const uint64_t entry = pinned[java_id % pinned.size()].load(std::memory_order_acquire);
  if (entry >> 32 != java_id) return nullptr;
  return const_cast<Account*>(ledger().accounts()) + (static_cast<uint32_t>(entry) - 1);
}

void add_to_ended(const Account& account) {
  ended_spun_ns.fetch_add(account.spun_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ended_slept_ns.fetch_add(account.slept_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ended_overslept_ns.fetch_add(account.overslept_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace

// --- on and off -----------------------------------------------------------------------------------------------------

bool start_blocking(JNIEnv* jni) noexcept {
  if (!ledger().reserve()) return false;
  ledger().set_cores(cores());
  ledger().begin_experiment();
  recording_number.fetch_add(1);
  close_ended();
  clear_payments();
  open_living(jni);
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

// --- threads --------------------------------------------------------------------------------------------------------

Account* this_account() noexcept { return here.account; }

void thread_begins(JNIEnv* jni, jthread thread) noexcept {
  here = {open_account(jni, thread, this_tid()), recording_number.load(std::memory_order_relaxed), 0};
  if (here.account == nullptr) return;
  ledger().look(*here.account, read_clocks());
  arm_timer(*here.account, this_tid());
}

void thread_ends(JNIEnv*, jthread) noexcept {
  Account* const account = account_here();
  if (account == nullptr) return;
  settle(*account);
  disarm_timer(*account);
  here.account = nullptr;
  add_to_ended(*account);
  ledger().close(*account);
}

// --- waiting --------------------------------------------------------------------------------------------------------

void wait_begins(JNIEnv* jni, jthread thread, bool is_timed) noexcept {
  Account* const account = account_here();
  if (account == nullptr) return;
  if (stays(jni, thread)) {
    begin(*account, is_timed);
  } else {
    settle(*account);
  }
}

void wait_ends(JNIEnv* jni, jthread thread, Ending ending) noexcept {
  Account* const account = account_here();
  if (account == nullptr || !is_waiting(*account) || !stays(jni, thread)) return;
  end(*account, ending == Ending::kWoken ? WaitEnding::kWoken : WaitEnding::kTimedOut);
}

// Its thread is in native code: it holds no lock of the JVM's, and safepoints don't wait for it while it pays.
ToldSleep::ToldSleep(int64_t ns) noexcept {
  Account* const account = account_here();
  if (account == nullptr || !is_on() || ns < kToldSleepNs || !may_tell_sleep(ns)) return;
  settle(*account);
  account_ = account;
  sample_ = waiting_sample(ns);
  ledger().wait_begins(*account, time_if_delayed());  // as one that ends by its time: nobody looks where it sleeps
  from_ns_ = now_ns();
  tell_sleep(*account, sample_);
}

// Who was interrupted early owes the rest of what it made others owe: so all stand still for as long as was told.
ToldSleep::~ToldSleep() {
  if (account_ == nullptr) return;
  ledger().wait_ends(*account_, WaitEnding::kTimedOut, 0);
  sample_.weight_ns = now_ns() - from_ns_;
  sleep_told_ends(*account_, sample_);
  settle(*account_);
}

bool park_begins(jint alias, bool is_timed) noexcept {
  Account* const account = account_here();
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
  Account* const account = account_here();
  if (account == nullptr) return;
  if (!is_timed) here.timed_from_ns = 0;
  end(*account, WaitEnding::kAsMarked);
  if (alias != 0) pinned[static_cast<uint32_t>(alias) % pinned.size()].store(0, std::memory_order_release);
}

void before_waking() noexcept {
  if (Account* const account = account_here()) settle(*account);
}

void waking(uint32_t java_id) noexcept {
  Account* const account = account_here();
  if (account == nullptr) return;  // a thread of the JVM, which pays nothing: as a timer would
  settle(*account);
  Account* woken = ledger().find(java_id);
  if (woken == nullptr) woken = pinned_account(java_id);
  if (woken != nullptr) ledger().woken(*woken, *account, time_if_delayed());
}

// --- what experiments and samples ask -------------------------------------------------------------------------------

void begin_epoch(bool spin) noexcept {
  set_spinning(spin);
  ledger().begin_experiment();
}

void cause_delay(Account& account, int64_t delay_ns) noexcept {
  ledger().hit(account, delay_ns, ledger().experiment());
}

int64_t epoch_delay_ns() noexcept { return ledger().delay_ns(); }
const std::atomic<int64_t>& epoch_delay_word() noexcept { return *ledger().delay_address(); }

Payments payments() noexcept {
  Payments sums{late.load(std::memory_order_relaxed),
                ended_spun_ns.load(std::memory_order_relaxed),
                ended_slept_ns.load(std::memory_order_relaxed),
                ended_overslept_ns.load(std::memory_order_relaxed),
                threads_seen.load(std::memory_order_relaxed),
                ledger().unprofiled_threads(),
                run_delays().read,
                run_delays().unknown};
  ledger().each([&](const Account& account) {
    sums.spin_ns += account.spun_ns.load(std::memory_order_relaxed);
    sums.slept_ns += account.slept_ns.load(std::memory_order_relaxed);
    sums.overslept_ns += account.overslept_ns.load(std::memory_order_relaxed);
  });
  return sums;
}

uint32_t program_threads(uint32_t* tids, uint32_t room) noexcept {
  uint32_t count = 0;
  ledger().each([&](const Account& account) {
    const uint32_t tid = account.tid.load(std::memory_order_relaxed);
    if (tid != 0 && count < room) tids[count++] = tid;
  });
  return count;
}

void settle_sample(Account& account, bool may_pay) noexcept {
  if (may_pay) {
    settle(account, Where::kJava);
  } else if (ledger().is_in_debt(account)) {
    late.fetch_add(1, std::memory_order_relaxed);
  }
}

bool is_waiting(const Account& account) noexcept { return account.wait_from.load(std::memory_order_relaxed) != 0; }
int64_t spun_ns(const Account& account) noexcept { return account.spun_ns.load(std::memory_order_relaxed); }

}  // namespace headway::agent::causal
