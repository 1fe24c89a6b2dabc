// Turns a recording into steps that can be replayed: for each thread what it computes and waits for, and whom it wakes.
//
// A step is a slice: a wait, then CPU time. A wait that another thread ended is over, in a replay, when that thread has
// computed as much as it had when it ended it; so who waits for whom, and for what part of whose work, is kept, and when
// that is, decided anew. What no thread of the run is known to have ended (a sleep, I/O, somebody outside) lasts as long
// as it lasted. A packet wakes its reader in an interrupt: reads that a thread of the run answered are given as AnsweredReads, and
// are over when that one comes there. A thread begins as if it had waited for the one that started it. Threads that the JVM's
// own thread stopped did not wait; while it carries out a collection, between two points of its work, all threads of the
// program in its process stand still.
//
// Threads that were ready to run while a core was free of the run's own threads did not get it: the machine had others to
// run, or took a while to wake them. How long each was late is its delay_ns, and the core time that was lost so, shared
// among those that were ready, its lost_ns.
//
// A sampler's signal cuts a wait in two, as a thread wakes up for it, and waits on: those are one step. Where it got a core
// late, its time may have been over before it ran: then it waits anew, and nothing says which of both it is.
//
// Some 80 bytes a slice, and 24 for each wait that another thread ended: kMostSlices bound it to about 2 GB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "wire/stored_slices.h"

namespace headway {

enum class StepWait : uint8_t {
  kNone,     // there was none, or the JVM stopped the thread
  kThread,   // another thread ended it
  kSleep,    // until a time
  kIo,       // a file, a socket, a poll, or uninterruptible
  kOutside,  // a thread that is not of the run ended it
  kUnknown,  // nobody knows who ended it
};
constexpr size_t kStepWaits = 6;

enum class ThreadRole : uint8_t { kProgram, kCollector, kVm, kOther, kLeftOut };

struct RunThreads {
  std::vector<int64_t> birth_ns;  // INT64_MIN: ran before the recording
  std::vector<int32_t> parent;    // -1: unknown
  std::vector<uint8_t> role;      // ThreadRole
  std::vector<int32_t> process;   // 0..; those that collections stop together

  size_t size() const { return role.size(); }
};

// Collections that stop all threads of a process, in any order; vm_thread carries them out between start and end.
struct RunStops {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  std::vector<int32_t> vm_thread;
};

// Waits for locks, in order of (thread, start_ns).
struct LockWaits {
  std::vector<int32_t> thread;
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
};

// Waits for I/O that an interrupt ended in the time of the thread of the run that sent what was waited for, in order of
// (thread, woken_ns).
struct AnsweredReads {
  std::vector<int32_t> thread;
  std::vector<int64_t> woken_ns;
};

// Waits that the JVM told of, and the number of what was waited for, in order of (thread, start_ns).
struct JvmWaits {
  std::vector<int32_t> thread;
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
  std::vector<int32_t> blocker;
};

constexpr int64_t kLookNs = 50'000;  // to look whether a wait goes on takes less

struct Step {
  int64_t begin_ns = 0;  // blocked, until
  int64_t woken_ns = 0;  // runnable, until
  int64_t start_ns = 0;  // on a CPU, until
  int64_t end_ns = 0;
  int64_t stolen_ns = 0;
  int64_t delay_ns = 0;
  int64_t lost_ns = 0;
  int32_t thread = -1;
  int32_t waker = -1;
  int32_t blocker = -1;  // what the JVM says it waits for
  uint8_t flags = 0;
  uint8_t blocked_in = 0;
  StepWait wait = StepWait::kNone;
  bool is_collecting = false;
  bool is_lock = false;   // it waits for a lock
  bool is_waker = false;  // it ends another thread's wait
  bool is_end = false;    // it waits until a thread has ended
  bool is_inside =
      false;  // it waits inside the JVM, which tells of its thread's other waits, or for a lock of the kernel
  bool is_unsure = false;  // a sample woke it so long before it ran that its time may have been over meanwhile

  int64_t waited_ns() const { return woken_ns - begin_ns; }
  int64_t running_ns() const { return end_ns - start_ns; }
};

// What a step brings about when its thread has run for `after_ns` of it; kReleasesInWait: when it has waited for so long.
struct StepSignal {
  enum What : uint8_t { kReleasesInWait, kEndsWait, kStops, kLetsGo, kReleases, kAcquires, kTakesWorker };
  uint32_t step = 0;    // of whom
  uint32_t target = 0;  // kEndsWait: a step; kStops, kLetsGo: a process; kTakesWorker: a pool; else a lock
  int64_t after_ns = 0;
  What what = kEndsWait;
};

// A point of a thread's work: so long after it began to run in a step.
struct StepPoint {
  uint32_t step = 0;
  int64_t after_ns = 0;
};

// What steps bring about where tasks of pools are threads (pool_tasks.h).
struct TaskSignals {
  std::vector<StepSignal> all;
  std::vector<uint32_t>
      further;             // by step: how many more signals than one its wait is over with; empty: one does for all
  int64_t between_ns = 0;  // how long tasks had waited for other tasks of their pool: they do no more
  bool has_all = true;     // false: some waits for all tasks of a pool have fewer signals than there are tasks
};

// Collects slices, then resolves who ended which wait.
class RunSteps {
 public:
  static constexpr size_t kMostSlices = 12'000'000;

  // Throws std::invalid_argument where columns do not fit each other.
  RunSteps(RunThreads threads, int64_t from_ns, int64_t to_ns, int64_t cores);
  // A run like another, of other threads with other steps, in order of threads.
  RunSteps(const RunSteps& like, RunThreads threads, std::vector<Step> steps, TaskSignals signals);

  // In any order; what lies outside of the span, or is of threads that are left out, is not taken. False: too many.
  bool batch(const StoredSlices& slices, const int16_t* tick_ns);
  // Every wait of the program's threads that the JVM can tell of: whoever waits for a time outside of them sleeps. Before resolve().
  void tell_waits(JvmWaits waits);
  // Which threads ended by themselves within the span: who waits for one of its own to end waits for those that had ended before,
  // too, whose end it found. Before resolve().
  void tell_ends(std::vector<uint8_t> has_ended);
  void resolve(const RunStops& collections, const LockWaits& locks, const AnsweredReads& answered);

  const RunThreads& threads() const { return threads_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<uint32_t>& first() const { return first_; }  // of each thread; one more than there are threads
  const std::vector<StepSignal>& signals() const { return signals_; }
  // How many pools there must be: their numbers are the targets of kTakesWorker.
  size_t pools() const { return pools_; }
  const std::vector<uint32_t>& further_signals() const { return further_signals_; }  // see TaskSignals
  int64_t between_tasks_ns() const { return between_tasks_ns_; }
  bool has_all_task_signals() const { return has_all_task_signals_; }
  // By step: the next one of its thread whose wait is not idle, of a JVM's own thread the next that another one ended,
  // as what it does between because a time is over it does not do when it gets work before; the last one's is beyond it.
  const std::vector<uint32_t>& next_wait() const { return next_wait_; }
  // A wait that lasted until its time was over, after which the thread only looked whether it had to wait on: whoever
  // ends the wait that follows ends that one. A thread that woke another one then had slept, and one of which the JVM tells no wait,
  // or none for the same as afterwards. So JVMs wait for monitors, and their own threads for work. Never of a task: in another
  // order whoever ends the wait that follows comes early, and the task's sleep before would be lost.
  bool is_idle(size_t step) const;
  // False of a thread that is unknown.
  bool has_role(int32_t thread, ThreadRole role) const;
  // Whether a step is of a thread of the program; its place in steps().
  bool is_program(size_t step) const;
  // Where a thread was in its work at a time; false where it did not run then.
  bool find(int32_t thread, int64_t ns, StepPoint& found) const;
  // The same of what the JVM tells; where it had come to, where it did not run then. Woken by then it runs already: in some of
  // thousands of waits the JVM sees a thread go on some microseconds before the kernel does. False where it has no steps.
  bool find_last(int32_t thread, int64_t ns, StepPoint& found) const;
  int64_t from_ns() const { return from_ns_; }
  // Of delays after a wait the one that a quarter are below: what waking takes, where nobody else wants the core.
  int64_t waking_ns() const { return waking_ns_; }
  int64_t lock_wait_ns() const { return lock_wait_ns_; }  // of the program's threads
  // Of the thread of the program that has most of it: how long it was late where `is_unsure`, slept or ready.
  int64_t unsure_ns() const { return unsure_ns_; }
  // Of reads that were answered: how long those were whose sender was not seen to run then. They last as long as they lasted.
  int64_t without_sender_ns() const { return without_sender_ns_; }
  const int64_t* waited_ns() const { return waited_ns_; }  // by StepWait, of the program's threads

 private:
  void order();
  void measure_delays();
  void classify(const RunStops& stops, const AnsweredReads& answered);
  void signal_starts_of_threads();
  void find_first_steps();
  void find_next_waits();
  void join_sampled_waits();
  std::vector<std::pair<int32_t, int64_t>> wakings_by_thread() const;
  void mark_locks(const LockWaits& locks);
  void mark_jvm_waits();
  void join_children();
  bool is_at_end(const StepSignal& signal) const;
  bool is_join(const StepSignal& signal) const;
  bool signal(int32_t waker, int64_t ns, uint32_t target, StepSignal::What what);
  int64_t all_stopped_ns(const RunStops& stops, size_t stop) const;
  bool is_collecting(const Step& step, const RunStops& stops) const;
  std::span<const Step> last_steps(int32_t thread, int64_t until_ns) const;
  bool begins_in_stop(const Step& step) const;
  bool is_stopped(const Step& step) const;

  RunThreads threads_;
  int64_t from_ns_;
  int64_t to_ns_;
  int64_t cores_;
  std::vector<Step> steps_;
  std::vector<uint32_t> first_;
  std::vector<StepSignal> signals_;
  std::vector<uint32_t> further_signals_;
  size_t pools_ = 0;
  size_t first_task_ = SIZE_MAX;  // threads from here on are tasks
  int64_t between_tasks_ns_ = 0;
  bool has_all_task_signals_ = true;
  std::vector<uint32_t> next_wait_;
  std::vector<uint8_t> has_ended_;  // by thread; empty: unknown
  JvmWaits jvm_waits_;
  bool knows_jvm_waits_ = false;
  int64_t waking_ns_ = 0;
  int64_t lock_wait_ns_ = 0;
  int64_t unsure_ns_ = 0;
  int64_t without_sender_ns_ = 0;
  int64_t waited_ns_[kStepWaits] = {};
};

}  // namespace headway
