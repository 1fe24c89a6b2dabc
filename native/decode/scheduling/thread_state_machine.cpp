#include "decode/scheduling/thread_state_machine.h"

#include <algorithm>

#include "decode/lock_tables/kernel_wakers.h"
#include "decode/scheduling/slice_counts.h"

namespace headway {
namespace {

constexpr uint32_t kMaxTid = 1 << 22;  // PID_MAX_LIMIT
constexpr size_t kMaxStrays = 100'000;

bool is_dead(uint16_t state) { return (state & 0xb0) != 0; }  // EXIT_ZOMBIE, EXIT_DEAD, TASK_DEAD

BlockedState blocked_state_of(uint16_t state) {
  if ((state & 2) != 0) return kUninterruptible;
  if ((state & 0x0c) != 0) return kStopped;
  return (state & 1) != 0 ? kSleeping : kUninterruptible;  // parked and whatever comes: no signal ends it
}

}  // namespace

ThreadStateMachine::ThreadStateMachine(const Lifecycle& lifecycle, const std::vector<uint8_t>& kinds, int64_t start_ns,
                                       int64_t end_ns, int64_t tick_ns, bool is_perf, DeferredTransitions* transitions,
                                       SliceBatch* slices)
    : lifecycle_(lifecycle),
      kinds_(kinds),
      start_ns_(start_ns),
      end_ns_(end_ns),
      tick_ns_(std::max<int64_t>(tick_ns, 1)),
      is_perf_(is_perf),
      unknown_stolen_(is_perf ? kStolenUnknown : 0),
      transitions_(transitions),
      slices_(slices),
      threads_(lifecycle.lives.size()),
      accounts_(lifecycle.lives.size()) {
  kinds_.resize(threads_.size(), 0);
  for (const LifeEvent& event : lifecycle.events) {
    if (event.type == LifeEvent::Type::kExec && event.old_tid != event.tid) {
      takes_over_.try_emplace(event.tid, event.old_tid);
    }
  }
}

void ThreadStateMachine::on_event(const Event& event) {
  switch (event.type) {
    case EventType::kSwitch:
      return on_switch(event);
    case EventType::kWaking:
      return on_waking(event);
    case EventType::kLife:
      return on_life(lifecycle_.events[event.other]);
    case EventType::kLoss:
    case EventType::kCounts:
      return;
  }
}

// --- who is meant ----------------------------------------------------------------------------------------------------

void ThreadStateMachine::bind(uint32_t tid, int32_t id) {
  if (tid == 0 || tid > kMaxTid) return;
  if (tid >= by_tid_.size()) by_tid_.resize(std::max<size_t>(tid + 1, by_tid_.size() * 2), -1);
  by_tid_[tid] = id;
}

int32_t ThreadStateMachine::known(uint32_t tid) const { return tid < by_tid_.size() ? by_tid_[tid] : -1; }

int32_t ThreadStateMachine::thread_of(uint32_t tid, int64_t ts_ns, bool may_begin) {
  const int32_t id = known(tid);
  if (id >= 0 && threads_[static_cast<size_t>(id)].state != State::kDead) return id;
  if (id >= 0 && threads_[static_cast<size_t>(id)].vanished) may_begin = false;
  // A thread that calls execve has its leader's tid some time before the exec is on record.
  if (const auto other = takes_over_.find(tid); id >= 0 && other != takes_over_.end()) {
    const int32_t heir = known(other->second);
    if (heir >= 0 && threads_[static_cast<size_t>(heir)].state != State::kDead) {
      bind(other->second, -1);
      bind(tid, heir);
      return heir;
    }
  }
  const bool is_left_out = ts_ns >= lifecycle_.left_out.first_ns;  // or its birth was lost: nobody knows
  if (!may_begin || is_left_out || tid == 0 || tid > kMaxTid || strays_.size() >= kMaxStrays) {
    ++counts_.ignored;
    return -1;
  }
  const auto stray = static_cast<int32_t>(threads_.size());
  threads_.emplace_back();
  accounts_.emplace_back();
  kinds_.push_back(0);
  strays_.push_back({tid, ts_ns});
  bind(tid, stray);
  return stray;
}

// --- births and deaths -----------------------------------------------------------------------------------------------

void ThreadStateMachine::on_life(const LifeEvent& event) {
  switch (event.type) {
    case LifeEvent::Type::kBirth:
      return born(event.thread, event);
    case LifeEvent::Type::kState:
      return first_state(event.thread, event);
    case LifeEvent::Type::kExit:
      return exited(event.thread, event);
    case LifeEvent::Type::kTotals:
      return totals(event.thread, event);
    case LifeEvent::Type::kExec:
      if (known(event.old_tid) == static_cast<int32_t>(event.thread)) bind(event.old_tid, -1);
      bind(event.tid, static_cast<int32_t>(event.thread));
      takes_over_.erase(event.tid);
      return;
  }
}

void ThreadStateMachine::born(uint32_t id, const LifeEvent& event) {
  if (const int32_t before = known(event.tid); before >= 0) vanish(static_cast<uint32_t>(before), event.ts_ns);
  bind(event.tid, static_cast<int32_t>(id));
  Thread& t = threads_[id];
  if (lifecycle_.lives[id].from_snapshot) return;
  t.has_exec_base = true;
  if (is_perf_) go_runnable(id, event.ts_ns, 0);  // no wake-up will be on record
}

void ThreadStateMachine::first_state(uint32_t id, const LifeEvent& event) {
  Thread& t = threads_[id];
  if (t.state != State::kUnborn) return;  // the records know better
  t.exec_base = static_cast<int64_t>(event.exec_ns);
  t.has_exec_base = event.exec_ns != 0;
  switch (lifecycle_.lives[id].snapshot_state) {
    case 'R':  // on a CPU or waiting for one: its next record tells
      t.state = State::kRunnable;
      t.blocked_since = t.runnable_since = event.ts_ns;
      t.is_guess = true;
      t.open_question = transitions_->ask(event.ts_ns, id, Level::kRunning, 0);
      return;
    case 'D':
      return go_blocked(id, event.ts_ns, kUninterruptible, 0);
    case 'T':
    case 't':
      return go_blocked(id, event.ts_ns, kStopped, 0);
    case 'X':
    case 'Z':
      return die(id, event.ts_ns, 0);
    default:
      return go_blocked(id, event.ts_ns, kSleeping, 0);
  }
}

void ThreadStateMachine::exited(uint32_t id, const LifeEvent& event) {
  Thread& t = threads_[id];
  t.is_exiting = true;
  accounts_[id].exec_before_exit_ns = accounts_[id].exec_ns;
  // A thread exits while it runs; else its last switch-in was lost.
  if (t.state != State::kRunning && !t.is_guess) vanish(id, event.ts_ns);
}

// Ends a thread whose last records were lost.
void ThreadStateMachine::vanish(uint32_t id, int64_t ts_ns) {
  Thread& t = threads_[id];
  if (t.state == State::kDead) return;
  t.is_exiting = true;
  t.vanished = true;
  if (t.state == State::kRunning) {
    on_cpu_[static_cast<size_t>(t.cpu)] = -1;
    return lost_switch_out(id, ts_ns);
  }
  if (t.state != State::kUnborn) {
    ++counts_.resyncs;
    came_to_run(id, ts_ns);
    emit(id, ts_ns, 0, false);
  }
  die(id, ts_ns, 0);
}

void ThreadStateMachine::totals(uint32_t id, const LifeEvent& event) {
  const Thread& t = threads_[id];
  ThreadAccount& account = accounts_[id];
  const auto waited = static_cast<int64_t>(event.run_delay_ns);
  if (account.wait_before_ns < 0) account.wait_before_ns = lifecycle_.lives[id].from_snapshot ? waited : 0;
  account.total_wait_ns = std::max<int64_t>(0, waited - account.wait_before_ns - account.runnable_ns);
  const bool runs = t.state == State::kRunning;
  const int64_t ran =
      account.running_ns + (runs ? std::max<int64_t>(0, event.ts_ns - std::max(t.running_since, start_ns_)) : 0);
  const int64_t executed = static_cast<int64_t>(event.exec_ns) - lifecycle_.lives[id].snapshot_exec_ns;
  account.total_stolen_ns = std::clamp<int64_t>(ran - std::clamp<int64_t>(executed, 0, ran), 0, ran);
}

// --- changes of state ------------------------------------------------------------------------------------------------

void ThreadStateMachine::on_switch(const Event& event) {
  ++counts_.records;
  const auto cpu = static_cast<size_t>(event.cpu);
  if (cpu >= on_cpu_.size()) on_cpu_.resize(cpu + 1, -1);
  const bool is_new = known(event.tid) < 0;
  const int32_t prev = (event.flags & HW_SW_PREV_OURS) != 0 ? thread_of(event.tid, event.ts_ns, is_new) : -1;
  if (on_cpu_[cpu] >= 0 && on_cpu_[cpu] != prev) {
    lost_switch_out(static_cast<uint32_t>(on_cpu_[cpu]), event.ts_ns);
  }
  on_cpu_[cpu] = -1;
  if (prev >= 0) switched_out(static_cast<uint32_t>(prev), event);
  const int32_t next = (event.flags & HW_SW_NEXT_OURS) != 0 ? thread_of(event.other, event.ts_ns, true) : -1;
  if (next >= 0) {
    if ((event.flags & HW_SW_UNREPORTED) != 0) ++counts_.unreported;
    switched_in(static_cast<uint32_t>(next), event.ts_ns, event.cpu);
    on_cpu_[cpu] = next;
  }
}

// Who woke a thread; a number that a thread had before may be that of one that is left out.
int32_t ThreadStateMachine::waker_of(const Event& event) const {
  const int32_t id = known(event.other);
  if (event.ts_ns < lifecycle_.left_out.first_ns) return id >= 0 ? id : kWakerOutside;
  const bool is_dead = id >= 0 && threads_[static_cast<size_t>(id)].state == State::kDead;
  return id < 0 || is_dead ? kWakerUnknown : id;
}

void ThreadStateMachine::on_waking(const Event& event) {
  ++counts_.records;
  const int32_t id = thread_of(event.tid, event.ts_ns, true);
  if (id < 0) return;
  Waking waking{kWakerOutside, (event.flags & HW_WK_IRQ) != 0, true};
  if ((event.flags & HW_WK_WAKER_OURS) != 0) waking.waker = waker_of(event);
  const auto index = static_cast<uint32_t>(id);
  Thread& t = threads_[index];
  const bool sleeps = t.state == State::kUnborn || t.state == State::kBlocked;
  if (wakers_ != nullptr && sleeps) wakers_->on_waking(index, event.ts_ns, waking.waker, waking.irq);
  switch (t.state) {
    case State::kUnborn:
      go_runnable(index, event.ts_ns, 0);
      t.waking = waking;
      return;
    case State::kBlocked:
      // Two wakings without a switch-in between: the first found the thread awake, so it slept until now.
      if (t.open_question != kNoTransition) transitions_->answer(t.open_question, Level::kIdle);
      t.open_question = kNoTransition;
      t.runnable_since = event.ts_ns;
      t.waking = waking;
      t.state = State::kRunnable;
      return transitions_->add(event.ts_ns, index, Level::kRunnable);
    case State::kRunnable:
      if (t.is_guess) settle_guess(index, event.ts_ns);
      return;
    case State::kRunning:
      t.pending = waking;
      return;
    case State::kDead:
      return;
  }
}

// Brings a thread that is not running to the end of the parts before running, at ts_ns.
void ThreadStateMachine::came_to_run(uint32_t id, int64_t ts_ns) {
  Thread& t = threads_[id];
  switch (t.state) {
    case State::kUnborn:
    case State::kDead:  // it had exited, says another record
      t.blocked_since = t.runnable_since = ts_ns;
      t.blocked_state = kNotBlocked;
      t.blocked_in = 0;
      t.waking = {};
      break;
    case State::kBlocked:
      if (t.open_question != kNoTransition && transitions_->answer(t.open_question, Level::kRunnable)) {
        t.runnable_since = t.blocked_since;
        t.waking = t.pending;
        // It was told late: until now the waking may have been in vain.
        if (wakers_ != nullptr) wakers_->on_waking(id, t.blocked_since, t.waking.waker, t.waking.irq);
      } else {
        t.runnable_since = ts_ns;
        t.runnable_known = !is_perf_;
        if (wakers_ != nullptr) wakers_->on_unseen_waking(id, ts_ns);
        if (!is_perf_ && ts_ns > start_ns_) ++counts_.unknown_wakers;
      }
      break;
    case State::kRunnable:
      if (t.is_guess) settle_guess(id, ts_ns);
      break;
    case State::kRunning:
      break;
  }
  t.open_question = kNoTransition;
  t.pending = {};
  t.running_since = ts_ns;
}

// A thread that /proc said was running or runnable turns out to have waited. When the sweep could not wait for that and
// took it for running, so it stands in the rows, up to now.
void ThreadStateMachine::settle_guess(uint32_t id, int64_t ts_ns) {
  Thread& t = threads_[id];
  t.is_guess = false;
  if (transitions_->answer(t.open_question, Level::kRunnable)) return;
  t.running_since = t.runnable_since;
  end_running(id, ts_ns, nullptr, false);
  go_runnable(id, ts_ns, 0);
}

void ThreadStateMachine::switched_in(uint32_t id, int64_t ts_ns, int16_t cpu) {
  Thread& t = threads_[id];
  if (t.state == State::kRunning) {
    on_cpu_[static_cast<size_t>(t.cpu)] = -1;
    lost_switch_out(id, ts_ns);
  } else if (t.state == State::kUnborn && id < lifecycle_.lives.size() && !lifecycle_.lives[id].from_snapshot) {
    ++counts_.resyncs;  // its first wake-up was lost
  }
  came_to_run(id, ts_ns);
  t.state = State::kRunning;
  t.cpu = cpu;
  if (ts_ns >= start_ns_ && kinds_[id] != kNotCounted) {
    ++accounts_[id].switches;
    ++counts_.switches;
  }
  transitions_->add(ts_ns, id, Level::kRunning);
}

void ThreadStateMachine::switched_out(uint32_t id, const Event& event) {
  Thread& t = threads_[id];
  if (t.state == State::kRunning && t.cpu != event.cpu) {
    ++counts_.resyncs;
    ++counts_.overlaps;
    on_cpu_[static_cast<size_t>(t.cpu)] = -1;
  } else if (t.state == State::kRunnable && t.is_guess) {
    transitions_->answer(t.open_question, Level::kRunning);
    t.running_since = t.runnable_since;
    t.state = State::kRunning;
    t.is_guess = false;
    t.open_question = kNoTransition;
  } else if (t.state != State::kRunning) {
    const bool is_first =
        t.state == State::kUnborn && (id >= lifecycle_.lives.size() || lifecycle_.lives[id].from_snapshot);
    const bool knows = !is_first && t.has_exec_base && (event.flags & HW_SW_NO_EXEC) == 0;
    if (!is_first) ++counts_.resyncs;  // its switch-in was lost
    came_to_run(id, event.ts_ns);
    if (knows) {
      const auto executed = static_cast<int64_t>(event.exec_ns - static_cast<uint64_t>(t.exec_base));
      counts_.unseen_ns += std::clamp<int64_t>(executed, 0, event.ts_ns - std::max(t.blocked_since, start_ns_));
    }
  }
  t.cpu = event.cpu;
  const uint64_t* exec_ns = (event.flags & HW_SW_NO_EXEC) != 0 ? nullptr : &event.exec_ns;
  if (counts_of_slices_ != nullptr) row_counts_ = &counts_of_slices_->left();
  const int64_t stolen_ns = end_running(id, event.ts_ns, exec_ns, false);
  row_counts_ = nullptr;
  if ((event.flags & HW_SW_PREEMPT) == 0 && is_dead(event.state)) {
    die(id, event.ts_ns, stolen_ns);
  } else if ((event.flags & HW_SW_PREEMPT) != 0 || event.state == 0) {
    go_runnable(id, event.ts_ns, stolen_ns);
  } else {
    go_blocked(id, event.ts_ns, blocked_state_of(event.state), stolen_ns, static_cast<uint8_t>(event.state >> 8));
  }
}

void ThreadStateMachine::lost_switch_out(uint32_t id, int64_t ts_ns) {
  if (threads_[id].state != State::kRunning) return;
  ++counts_.resyncs;
  ++counts_.overlaps;
  const int64_t stolen_ns = end_running(id, ts_ns, nullptr, false);
  threads_[id].pending = {};
  if (threads_[id].is_exiting) {
    die(id, ts_ns, stolen_ns);
  } else {
    go_blocked(id, ts_ns, kSleeping, stolen_ns);
  }
}

void ThreadStateMachine::go_blocked(uint32_t id, int64_t ts_ns, uint8_t blocked_state, int64_t stolen_ns,
                                    uint8_t blocked_in) {
  Thread& t = threads_[id];
  t.state = State::kBlocked;
  t.blocked_since = ts_ns;
  t.blocked_state = blocked_state;
  t.blocked_in = blocked_in;
  t.waking = {};
  t.runnable_known = true;
  t.open_question = kNoTransition;
  if (t.pending.known) {
    t.open_question = transitions_->ask(ts_ns, id, Level::kIdle, stolen_ns);
  } else {
    transitions_->add(ts_ns, id, Level::kIdle, stolen_ns);
  }
}

void ThreadStateMachine::go_runnable(uint32_t id, int64_t ts_ns, int64_t stolen_ns) {
  Thread& t = threads_[id];
  t.state = State::kRunnable;
  t.blocked_since = t.runnable_since = ts_ns;
  t.blocked_state = kNotBlocked;
  t.blocked_in = 0;
  t.waking = {};
  t.pending = {};
  t.runnable_known = true;
  t.open_question = kNoTransition;
  transitions_->add(ts_ns, id, Level::kRunnable, stolen_ns);
}

void ThreadStateMachine::die(uint32_t id, int64_t ts_ns, int64_t stolen_ns) {
  threads_[id].state = State::kDead;
  transitions_->add(ts_ns, id, Level::kIdle, stolen_ns);
}

}  // namespace headway
