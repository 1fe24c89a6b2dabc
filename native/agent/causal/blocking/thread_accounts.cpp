// Accounts belong to OS threads. A virtual thread that leaves its carrier while it waits has none of its own: what it
// does counts for the carrier, and what accrues while it is away is nobody's.
#include "agent/causal/blocking/thread_accounts.h"

#include <sys/types.h>

#include <atomic>
#include <string_view>
#include <vector>

#include "agent/causal/ledger/accounts.h"
#include "agent/causal/ledger/settle.h"
#include "agent/causal/sampling/sampled_threads.h"
#include "agent/hotspot/stop_word.h"
#include "agent/jvm/thread_ids.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

// Touched when the thread begins or first waits, so that a signal handler on it causes no allocation of it.
struct Here {
  DelayAccount* account = nullptr;
  uint32_t sought = 0;        // in which recording; the account of a thread that lived before it is found by its number
  int64_t timed_from_ns = 0;  // when a wait with a time limit began
};
thread_local Here here;

std::atomic<uint32_t> recording_number{0};
StopWord stop_word;  // found before the first account is opened

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

DelayAccount* open_account(JNIEnv* jni, jthread thread, uint32_t tid) {
  const uint64_t java_id = java_thread_id(jni, thread);
  if (java_id == 0 || tid == 0 || !is_programs(jni, thread)) return nullptr;
  bool is_new = false;
  DelayAccount* const account = ledger().find_or_open(java_id, tid, is_new);
  if (is_new) count_new_thread();
  if (account != nullptr && agent().thread_eetop != nullptr) {
    account->stop_word = stop_word.of(jni->GetLongField(thread, agent().thread_eetop));
  }
  return account;
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

}  // namespace

DelayAccount* account_here() noexcept {
  const uint32_t number = recording_number.load(std::memory_order_relaxed);
  if (here.account == nullptr && here.sought != number) {
    here.sought = number;
    here.account = ledger().find_tid(this_tid());
  }
  return here.account;
}

int64_t& timed_wait_from_ns() noexcept { return here.timed_from_ns; }

void begin_accounts(JNIEnv* jni) noexcept {
  recording_number.fetch_add(1);
  close_ended_accounts();
  clear_payments();
  open_living(jni);
}

void thread_begins(JNIEnv* jni, jthread thread) noexcept {
  here = {open_account(jni, thread, this_tid()), recording_number.load(std::memory_order_relaxed), 0};
  if (here.account == nullptr) return;
  ledger().look(*here.account, read_clocks());
  arm_timer(*here.account, this_tid());
}

void thread_ends(JNIEnv*, jthread) noexcept {
  DelayAccount* const account = account_here();
  if (account == nullptr) return;
  settle(*account);
  disarm_timer(*account);
  here.account = nullptr;
  close_account(*account);
}

}  // namespace headway::agent::causal
