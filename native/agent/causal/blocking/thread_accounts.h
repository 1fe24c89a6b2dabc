// Accounts of the program's threads, opened where a thread begins and closed where it ends
// (docs/decisions/0008-causal.md).
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

#include "agent/causal/ledger/ledger.h"

namespace headway::agent::causal {

// A recording begins: of the threads that live already, each of the program gets an account.
void begin_accounts(JNIEnv* jni) noexcept;
// The calling thread's; null: a thread of the JVM, of headway, or seen too late. Not in a signal handler.
DelayAccount* account_here() noexcept;
// When the calling thread's wait with a time limit began; 0: it is in none.
int64_t& timed_wait_from_ns() noexcept;
void thread_begins(JNIEnv* jni, jthread thread) noexcept;  // on the thread itself: opens its account, arms its timer
void thread_ends(JNIEnv* jni, jthread thread) noexcept;    // likewise: pays first, so that who joins it need not

}  // namespace headway::agent::causal
