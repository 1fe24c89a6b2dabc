// Causal profiling inside the JVM: what its parts ask of each other. Virtual speedups after Coz (Curtsinger and Berger,
// SOSP 2015), blocked samples after BCOZ (OSDI 2024); docs/decisions/0008-causal.md says where we differ.
//
//   points        counts visits of progress points (instrumented bytecode)             points.cpp, class_insert.*
//   sampling      who runs or sleeps in which line, now                                 sampling.cpp, stack_reader.*,
//   lines.* ledger        what every thread owes and has paid                                   ledger.*, settle.cpp
//   blocking      when threads wait, wake others, begin and end                         blocking.cpp, and the hooks
//   experiments   which line is made how much faster, for how long; what came of it     experiments.cpp, planner.*,
//   notes.*
//
// Everything marked [signal] is called in signal handlers: no locks, no memory, no JNI.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/causal/visits.h"

namespace headway::agent::causal {

struct Account;  // of one platform thread of the program: ledger.h
struct Place;    // options.h

// --- on and off (experiments.cpp) -----------------------------------------------------------------------------------
// True from begin_causal until the recording ends.
bool is_on() noexcept;  // [signal]
// Live phase. Parses agent().options.causal, instruments, starts sampling and the thread that runs experiments.
void begin_causal(JNIEnv* jni) noexcept;
// No more delays, timers disarmed, last notes written. Any thread; also when the JVM dies (`with_program`).
void end_causal(bool with_program = false) noexcept;
// Asks the thread of the experiments to do so; returns at once.
void wake_causal() noexcept;

// --- threads (blocking.cpp) -----------------------------------------------------------------------------------------
// The calling thread's account; null: a thread of the JVM, of headway, or seen too late. Never allocates after
// thread_begins.
Account* this_account() noexcept;                          // [signal]
void thread_begins(JNIEnv* jni, jthread thread) noexcept;  // on the thread itself: opens its account, arms its timer
void thread_ends(JNIEnv* jni,
                 jthread thread) noexcept;  // on the thread itself: pays first, so that who joins it need not

// --- the ledger, as experiments use it (settle.cpp)
// ----------------------------------------------------------------------- A new epoch: nobody owes anything, whatever
// was owed is forgiven, who is paying stops. `spin`: payments burn CPU.
void begin_epoch(bool spin) noexcept;
// [signal] The calling thread ran (or slept) so long in the line that is made faster: all others owe it. Counted as
// paid for `account`; the caller settles afterwards.
void cause_delay(Account& account, int64_t delay_ns) noexcept;
int64_t epoch_delay_ns() noexcept;  // [signal] G of this epoch
// G itself: inserted bytecode reads it by its address, and settles (before_waking) only when it has moved since.
const std::atomic<int64_t>& epoch_delay_word() noexcept;
struct Payments {
  uint64_t late = 0;  // put off to the next sample, because the thread could not be held up where it was
  int64_t spin_ns = 0;
  int64_t slept_ns = 0;
  int64_t overslept_ns = 0;
  uint32_t threads = 0;             // seen so far
  uint32_t unprofiled_threads = 0;  // of them: no account was free
  uint64_t run_delays = 0;          // how often a thread asked how long it had waited for a core
  uint64_t unknown_run_delays = 0;  // and was not told
};
Payments payments() noexcept;
// OS thread ids of (some of) the live threads with an account; the number written.
uint32_t program_threads(uint32_t* tids, uint32_t room) noexcept;

// Parks, monitors and waits are told of from now on: hooks, events and the capabilities they need. Before
// start_sampling; accounts of the threads that live already are opened by thread_begins on each of them, or here for
// all.
bool start_blocking(JNIEnv* jni) noexcept;
// Any thread, also when the JVM dies (jni: may be null). Who is paying stops, nobody owes anything any more.
void stop_blocking(JNIEnv* jni) noexcept;

// --- samples: what they say ------------------------------------------------------------------------------------------
struct Sample {
  uint32_t line;          // innermost frame in scope, by lines.h; 0: none in scope, 1: the stack could not be read
  uint32_t method;        // of that line, by lines.h
  int64_t weight_ns;      // what it stands for: CPU time since the thread's last sample, or time asleep
  bool is_blocked;        // asleep (Thread.sleep, I/O, a timed wait that ended by its time), not running
  bool is_whole = false;  // of a sleep or a timed wait: all of it
  bool in_target_method = false;  // target_method() is among its frames, or a frame is in such a section
};

// --- waiting (blocking.cpp) -----------------------------------------------------------------------------------------
enum class Ending { kWoken, kTimedOut };  // by a thread of this JVM; by time, a file, a socket
// Pays what it owes, then what accrues is open until wait_ends. `is_timed`: it has a time limit.
void wait_begins(JNIEnv* jni, jthread thread, bool is_timed = false) noexcept;
void wait_ends(JNIEnv* jni, jthread thread, Ending ending) noexcept;  // woken: excused; else owed
// A sleep of the calling thread, from before it begins to after it has ended; pays at both ends.
class ToldSleep {
 public:
  explicit ToldSleep(int64_t ns) noexcept;  // as the program asks for
  ~ToldSleep();
  ToldSleep(const ToldSleep&) = delete;
  ToldSleep& operator=(const ToldSleep&) = delete;

 private:
  Account* account_ = nullptr;  // null: nothing was told
  int64_t from_ns_ = 0;
  Sample sample_;
};
// The calling thread is about to wake another one: it pays first.
void before_waking() noexcept;
// The same, and the thread `java_id` (which waits, or is about to) was woken by a thread of the program.
void waking(uint32_t java_id) noexcept;

// --- samples (sampling.cpp) -----------------------------------------------------------------------------------------
// `agent().options.causal` holds the period. What can't be had is said by problem().
bool start_sampling(JNIEnv* jni) noexcept;
void stop_sampling() noexcept;
void arm_timer(Account& account, uint32_t tid) noexcept;
void disarm_timer(Account& account) noexcept;
// On the thread itself, when a wait of more than a millisecond ended by its time: a blocked sample of its whole length.
void timed_wait_ended(Account& account, int64_t waited_ns) noexcept;
// The calling thread waits for so long, where its stack says: not in a signal handler.
Sample waiting_sample(int64_t waited_ns) noexcept;
// What sampling asks of the ledger, all [signal]:
// After each sample, on the thread itself: pays, or puts it off where the thread must not be held up now.
void settle_sample(Account& account, bool may_pay) noexcept;
// All who run Java code now and owe much pay at once, not at their next samples. Not in a signal handler.
void call_to_pay() noexcept;
bool is_waiting(const Account& account) noexcept;  // in a wait that the hooks know of
int64_t spun_ns(const Account& account) noexcept;  // CPU time that payments have burnt, all in all
// A class was prepared: its methods' line tables are kept if the scope includes it. JVMTI's ClassPrepare.
void note_class(JNIEnv* jni, jclass type, std::string_view name) noexcept;

bool timers_are_perf() noexcept;
struct SamplingHealth {
  uint64_t samples = 0;
  uint64_t faults = 0;        // of reading a stack, caught
  uint64_t refused[32] = {};  // [i]: AsyncGetCallTrace said -i
  uint32_t threads_without_timer = 0;
  int64_t out_of_scope_ns = 0;
  int64_t unread_ns = 0;
};
SamplingHealth sampling_health() noexcept;
// Up to eight methods that most samples without a line in scope were in, as JSON strings with commas between them.
std::string out_of_scope_methods() noexcept;

// Lines have small dense ids from 2 on, below kMostLines; the same for methods (lines.cpp).
constexpr uint32_t kMostLines = 1 << 18;
struct LineFacts {
  std::string class_name;  // "com.acme.Order$1", UTF-8
  std::string method;
  std::string file;
  int32_t line = -1;
  uint32_t method_id = 0;
};
uint32_t line_limit() noexcept;                             // one past the greatest id
bool line_facts(uint32_t line, LineFacts& facts) noexcept;  // not in a signal handler
// What a place means, in the classes that are there so far; the class of that very name first.
std::vector<uint32_t> find_lines(const Place& place) noexcept;
std::vector<uint32_t> find_methods(const Place& place) noexcept;  // by lines.h
// [signal] The method that is being made faster with all that it calls; kSectionsTarget (lock_target.h): the critical
// sections; 0: none of both (experiments.cpp).
uint32_t target_method() noexcept;
bool is_target_method(uint32_t method) noexcept;  // [signal] that one, or another one that was meant as well
// A class came: a run that is one experiment may have waited for it. Any thread, not in a signal handler.
void find_target() noexcept;

// --- experiments (experiments.cpp) ----------------------------------------------------------------------------------
// Counts the sample; if it is in the line that is being made faster, all others owe. The caller settles afterwards.
void take_sample(Account& account, const Sample& sample) noexcept;  // [signal]
// A sleep of the thread that begins now and is to last for `sample.weight_ns`. If it ends within the experiment and is
// in the line that is being made faster, all others owe at once: they have the time of the sleep to pay in.
void tell_sleep(Account& account, const Sample& sample) noexcept;
void sleep_told_ends(Account& account, const Sample& sample) noexcept;  // it took `sample.weight_ns`
// Whoever sleeps since before the experiment began makes all others owe for the rest of the sleep.
void tell_sleeps_of_before() noexcept;
// Whether a sleep of that length may be told ahead: others have to be let go if the run ends before it.
bool may_tell_sleep(int64_t ns) noexcept;
void collection_ended(int64_t pause_ns) noexcept;  // on the VM thread
// Delays inserted since begin_causal, of all epochs and of pauses made shorter: what a latency clock leaves out.
int64_t inserted_ns() noexcept;  // [signal]
// JSON: a string in quotation marks, escaped, out of modified UTF-8 (notes.cpp).
std::string json_text(std::string_view text) noexcept;
// One line of NDJSON into causal-<pid>.jsonl; any thread but never in a signal handler. `fields` without braces.
void note(std::string_view type, std::string_view fields) noexcept;
void problem(std::string_view id, std::string_view text) noexcept;  // id: of src/headway/errors, "HW6.."

// --- progress points (points.cpp) -----------------------------------------------------------------------------------
bool arm_points(JNIEnv* jni) noexcept;                                            // those of the options
void instrument_class(JNIEnv* jni, jclass type, std::string_view name) noexcept;  // JVMTI's ClassPrepare
uint32_t point_count() noexcept;
std::vector<LatencyPair> latency_pairs() noexcept;
Visits visits(uint32_t point) noexcept;  // exact: all threads' counters summed. clock_ns wraps: subtract as uint64_t
// About each second, on the agent's own thread: notes on points that nothing fits, the candidates of --suggest.
void look_after_points(JNIEnv* jni) noexcept;
// Gives the classes their own bytes back; live phase, outside callbacks. Counts stay readable.
void disarm_points(JNIEnv* jni) noexcept;
// True: JVMTI's ClassFileLoadHook is on for us, and stays so (classes get their calls while they are loaded).
bool points_want_class_files() noexcept;
// Part of that event. True: the class has got new bytes.
bool insert_points(const char* name, jclass redefined, jint length, const unsigned char* bytes, jint* new_length,
                   unsigned char** new_bytes) noexcept;

}  // namespace headway::agent::causal
