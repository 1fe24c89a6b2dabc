// Delays where threads wait for and wake each other: what a thread owes is paid before it does either, and what came due
// while it waited is excused if another thread of the program woke it.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

namespace headway::agent::causal {

// Parks, monitors and waits are reported from now on: hooks, events and the capabilities they need. Before
// start_sampling.
bool start_blocking(JNIEnv* jni) noexcept;
// Any thread, also when the JVM dies (jni: may be null). Who is paying stops, nobody owes anything any more.
void stop_blocking(JNIEnv* jni) noexcept;

// The time, where it matters: when nobody can owe anything it is not asked for, and 0.
int64_t time_if_delayed() noexcept;
enum class Ending { kWoken, kTimedOut };  // by a thread of this JVM; by time, a file, a socket
// Pays what it owes, then what accrues is open until wait_ends. `is_timed`: it has a time limit.
void wait_begins(JNIEnv* jni, jthread thread, bool is_timed = false) noexcept;
void wait_ends(JNIEnv* jni, jthread thread, Ending ending) noexcept;  // woken: excused; else owed
// The calling OS thread parks. `alias`: the id of the virtual thread that does so without leaving its carrier, or 0.
// False: it has no account, park_ends is not to be called.
bool park_begins(jint alias, bool is_timed) noexcept;
void park_ends(jint alias, bool is_timed) noexcept;
// The calling thread is about to wake another one: it pays first.
void before_waking() noexcept;
// The same, and the thread `java_id` (which waits, or is about to) was woken by a thread of the program.
void waking(uint32_t java_id) noexcept;

}  // namespace headway::agent::causal
