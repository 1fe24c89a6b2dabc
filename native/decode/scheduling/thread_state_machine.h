// What each thread does, from the scheduling records in order of time: cycles of blocked, runnable, running.
//
// The rules (docs/explanation/states.md tells them at length):
//  - A thread switched out while it wanted to go on (preempted, or state 0) is runnable, whatever its state says.
//  - A waking turns a blocked thread runnable; its waker and whether it came from an interrupt are kept.
//  - A waking that arrives while the thread still runs is held until its next switch-out. If that puts the thread to
//    sleep, the waking either took effect in that moment (the next record of the thread is its switch-in) or found it
//    awake and did nothing (the next is another waking). Only the next record tells; until then changes are deferred
//    (see DeferredTransitions).
//  - A block that ends without a waking lasted until the switch-in, its waker unknown.
//  - Lost records make a thread's state inconsistent with the next one: it is put right, and counted as a resync.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "decode/parallelism/deferred_transitions.h"
#include "decode/scheduling/event.h"
#include "decode/slices/slices.h"
#include "decode/threads/lifecycle.h"

namespace headway {

class KernelWakers;
class SliceCounts;
struct SpanCounts;

constexpr int32_t kWakerUnknown = -1;
constexpr int32_t kWakerOutside = -2;

struct Stray {  // a thread in the scheduling records whose birth is on no record
  uint32_t tid;
  int64_t first_ns;
};

struct ThreadAccount {  // of one thread inside the window
  int64_t running_ns = 0;
  int64_t runnable_ns = 0;
  int64_t blocked_ns = 0;
  int64_t exec_ns = 0;   // executed while running_ns passed
  int64_t switches = 0;  // times switched in
  bool has_exec = false;
  int64_t exec_before_exit_ns = -1;  // executed until its last switch-out before its exit: the count there is no less
  // From the kernel's totals (perf collector): what they say beyond what was seen, as of the last one.
  int64_t total_stolen_ns = -1;
  int64_t total_wait_ns = -1;
  int64_t wait_before_ns = -1;
  int64_t last_ns = -1;  // end of the last cycle: the next one begins there
};

struct ThreadStateCounts {
  uint64_t switches = 0;        // switch-ins of recorded threads inside the window
  uint64_t records = 0;         // switches and wakings decoded
  uint64_t resyncs = 0;         // states put right
  int64_t unseen_ns = 0;        // executed by threads between a switch-in that was lost and their switch-out
  uint64_t overlaps = 0;        // of these: two threads on a CPU, or a thread on two
  uint64_t unknown_wakers = 0;  // blocks that ended without a waking
  uint64_t open_blocks = 0;     // blocks the window's end cut off
  uint64_t gaps = 0;            // cycles that do not begin where the thread's last one ended
  uint64_t unreported = 0;      // switch-ins that the kernel reported to nobody, told by the scheduler's own account
  uint64_t ignored = 0;         // records of nobody: impossible tids, or strays beyond the limit
};

// The states of all threads of a recording; writes a row of `slice` for each cycle that ends.
class ThreadStateMachine {
 public:
  // `is_perf`: no wakings and no executed time in the records. kinds[thread] as in ParallelismIntegrator.
  // Slices are written in ticks of tick_ns; accounts and transitions are exact.
  ThreadStateMachine(const Lifecycle& lifecycle, const std::vector<uint8_t>& kinds, int64_t start_ns, int64_t end_ns,
                     int64_t tick_ns, bool is_perf, DeferredTransitions* transitions, SliceBatch* slices);

  // Tells of each waking of a sleeping thread as well; nullptr: nobody.
  void tell_wakings(KernelWakers* wakers) { wakers_ = wakers; }

  // Has the counts of each slice from there, which sees every event before this does; nullptr: there are none.
  void take_counts(const SliceCounts* counts) { counts_of_slices_ = counts; }

  void on_event(const Event& event);
  // Closes what is open at the end of the window.
  void finish();

  const std::vector<ThreadAccount>& accounts() const { return accounts_; }
  const std::vector<Stray>& strays() const { return strays_; }
  const ThreadStateCounts& counts() const { return counts_; }

 private:
  enum class State : uint8_t { kUnborn, kBlocked, kRunnable, kRunning, kDead };
  struct Waking {
    int32_t waker = kWakerUnknown;
    bool irq = false;
    bool known = false;
  };
  struct Thread {
    // The present cycle; a part that has not begun has the time of the one before it.
    int64_t blocked_since = 0;
    int64_t runnable_since = 0;
    int64_t running_since = 0;
    int64_t exec_base = 0;  // executed until its last switch-out
    int64_t carry_ns = 0;   // stolen time too small to be stored yet
    Waking waking;          // what ended the block of this cycle
    Waking pending;         // came while the thread ran
    TransitionId open_question = kNoTransition;
    int32_t cpu = -1;
    State state = State::kUnborn;
    uint8_t blocked_state = 0;  // as slice.blocked_state
    uint8_t blocked_in = 0;     // hw_blocked_in
    bool runnable_known = true;
    bool has_exec_base = false;
    bool is_exiting = false;
    bool vanished = false;  // its end was not seen: what still comes of it is no other thread
    bool is_guess = false;  // the state is from /proc: nothing of this thread seen yet
  };

  void on_life(const LifeEvent& event);
  void on_switch(const Event& event);
  void on_waking(const Event& event);

  void born(uint32_t id, const LifeEvent& event);
  void first_state(uint32_t id, const LifeEvent& event);
  void exited(uint32_t id, const LifeEvent& event);
  void totals(uint32_t id, const LifeEvent& event);
  void switched_out(uint32_t id, const Event& event);
  void came_to_run(uint32_t id, int64_t ts_ns);
  void switched_in(uint32_t id, int64_t ts_ns, int16_t cpu);
  void settle_guess(uint32_t id, int64_t ts_ns);
  void vanish(uint32_t id, int64_t ts_ns);
  void lost_switch_out(uint32_t id, int64_t ts_ns);

  // The thread that `tid` means now, -1 for none.
  int32_t known(uint32_t tid) const;
  // The same; `may_begin`: the record can be the first of a thread, so an unknown one becomes a stray.
  int32_t thread_of(uint32_t tid, int64_t ts_ns, bool may_begin);
  int32_t waker_of(const Event& event) const;
  void bind(uint32_t tid, int32_t id);
  void go_blocked(uint32_t id, int64_t ts_ns, uint8_t blocked_state, int64_t stolen_ns, uint8_t blocked_in = 0);
  void go_runnable(uint32_t id, int64_t ts_ns, int64_t stolen_ns);
  void die(uint32_t id, int64_t ts_ns, int64_t stolen_ns);
  void close_at_end(uint32_t id);
  // Ends the running part and with it the cycle. Returns what the host took of it.
  int64_t end_running(uint32_t id, int64_t ts_ns, const uint64_t* exec_ns, bool is_open);
  void write_row(uint32_t id, const int64_t (&times_ns)[4], int64_t stolen_ns, bool is_open);
  int64_t stolen_of(uint32_t id, int64_t ts_ns, const uint64_t* exec_ns);
  uint32_t tid_of(uint32_t id) const;
  void write_counts(int64_t running_since_ns, int64_t end_ns);
  void emit(uint32_t id, int64_t end_ns, int64_t stolen_ns, bool is_open);

  const Lifecycle& lifecycle_;
  std::vector<uint8_t> kinds_;
  const int64_t start_ns_, end_ns_, tick_ns_;
  const bool is_perf_;
  const uint8_t unknown_stolen_;  // flag of a running part without executed time
  DeferredTransitions* transitions_;
  SliceBatch* slices_;
  KernelWakers* wakers_ = nullptr;
  const SliceCounts* counts_of_slices_ = nullptr;
  const SpanCounts* row_counts_ = nullptr;  // of the slice that is written now
  std::vector<Thread> threads_;
  std::vector<ThreadAccount> accounts_;
  std::vector<int32_t> by_tid_;
  std::vector<int32_t> on_cpu_;                        // the thread a CPU runs, -1: none of ours
  std::unordered_map<uint32_t, uint32_t> takes_over_;  // leader's tid: tid of the thread that will exec in its place
  std::vector<Stray> strays_;
  ThreadStateCounts counts_;
};

}  // namespace headway
