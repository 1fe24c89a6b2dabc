// The state machine's other half: what a cycle that has ended means in rows and totals.
#include <algorithm>

#include "decode/scheduling/slice_counts.h"
#include "decode/scheduling/thread_state_machine.h"

namespace headway {
namespace {

// Stolen time is stored in these steps, and what is left over is carried to the thread's next interval: the two clocks
// it is the difference of are read some hundred nanoseconds apart, so finer figures are noise that only costs room.
constexpr int64_t kStolenStepNs = 1024;
constexpr int64_t kLeastCarryNs = -20'000;  // beyond, it is not noise: it must not hide what is really stolen later
// An unanswered question at the end of the recording: who was woken so shortly before was on its way to a CPU.
constexpr int64_t kOnItsWayNs = 1'000'000;

}  // namespace

int64_t ThreadStateMachine::end_running(uint32_t id, int64_t ts_ns, const uint64_t* exec_ns, bool is_open) {
  const int64_t stolen_ns = stolen_of(id, ts_ns, exec_ns);
  emit(id, ts_ns, stolen_ns, is_open);
  return stolen_ns;
}

int64_t ThreadStateMachine::stolen_of(uint32_t id, int64_t ts_ns, const uint64_t* exec_ns) {
  Thread& t = threads_[id];
  const int64_t from = std::clamp(t.running_since, start_ns_, end_ns_), to = std::clamp(ts_ns, start_ns_, end_ns_);
  const int64_t ran = to - from;
  if (exec_ns == nullptr || !t.has_exec_base) {
    if (exec_ns != nullptr) {
      t.exec_base = static_cast<int64_t>(*exec_ns);
      t.has_exec_base = true;
    }
    accounts_[id].exec_ns += ran;
    return 0;
  }
  const int64_t whole = ts_ns - t.running_since;
  // As unsigned numbers, so that nonsense in a damaged spool overflows harmlessly.
  const auto delta = static_cast<int64_t>(*exec_ns - static_cast<uint64_t>(t.exec_base));
  t.exec_base = static_cast<int64_t>(*exec_ns);
  if (ran <= 0) return 0;
  int64_t executed = std::clamp<int64_t>(delta, 0, 2 * whole + 1'000'000'000);
  if (ran != whole) executed = static_cast<int64_t>(static_cast<__int128>(executed) * ran / whole);
  accounts_[id].exec_ns += executed;
  accounts_[id].has_exec = true;
  t.carry_ns = std::max(t.carry_ns + ran - executed, kLeastCarryNs);
  if (t.carry_ns < kStolenStepNs) return 0;
  const int64_t stolen = std::min(t.carry_ns, ran) / kStolenStepNs * kStolenStepNs;
  t.carry_ns -= stolen;
  return stolen;
}

void ThreadStateMachine::emit(uint32_t id, int64_t end_ns, int64_t stolen_ns, bool is_open) {
  const Thread& t = threads_[id];
  if (kinds_[id] == kNotCounted || end_ns <= start_ns_ || t.blocked_since >= end_ns_) return;
  const int64_t blocked_since = std::max(t.blocked_since, start_ns_), end = std::min(end_ns, end_ns_);
  const int64_t runnable_since = std::clamp(t.runnable_since, blocked_since, end);
  const int64_t running_since = std::clamp(t.running_since, runnable_since, end);
  ThreadAccount& account = accounts_[id];
  if (account.last_ns >= 0 && account.last_ns != blocked_since) ++counts_.gaps;
  account.last_ns = end;
  account.blocked_ns += runnable_since - blocked_since;
  account.runnable_ns += running_since - runnable_since;
  account.running_ns += end - running_since;
  if (is_open && runnable_since > blocked_since && t.runnable_since >= end) ++counts_.open_blocks;
  write_row(id, {blocked_since, runnable_since, running_since, end}, stolen_ns, is_open);
}

// The times are the four borders of the cycle. Each is rounded down to a tick by itself, so that rounded slices meet
// where the exact ones do.
void ThreadStateMachine::write_row(uint32_t id, const int64_t (&times_ns)[4], int64_t stolen_ns, bool is_open) {
  const Thread& t = threads_[id];
  int64_t ticks[4];
  for (int i = 0; i < 4; ++i) ticks[i] = times_ns[i] / tick_ns_;
  const bool woken_inside = t.runnable_since >= start_ns_;  // else what ended the block is no part of the recording
  const bool has_waking = t.waking.known && woken_inside;
  const bool has_blocked = times_ns[1] > times_ns[0] || woken_inside;
  uint8_t flags = has_blocked ? t.blocked_state : uint8_t{0};
  if (has_waking && t.waking.irq) flags |= kWakerIrq;
  if (is_open) flags |= kIsOpen;
  if (!t.runnable_known) flags |= kRunnableUnknown;
  SliceBatch& out = *slices_;
  out.thread_id.push_back(static_cast<int32_t>(id));
  out.end_ticks.push_back(ticks[3]);
  out.running_ticks.push_back(ticks[3] - ticks[2]);
  out.runnable_ticks.push_back(ticks[2] - ticks[1]);
  out.blocked_ticks.push_back(ticks[1] - ticks[0]);
  out.stolen_ticks.push_back(stolen_ns / tick_ns_);
  out.waker_id.push_back(has_waking ? t.waking.waker : kWakerUnknown);
  out.cpu.push_back(is_open && t.running_since >= times_ns[3] ? int16_t{-1} : static_cast<int16_t>(t.cpu));
  out.flags.push_back(flags | unknown_stolen_);
  out.blocked_in.push_back(has_blocked ? t.blocked_in : uint8_t{0});
  if (counts_of_slices_ != nullptr) write_counts(times_ns[2], times_ns[3]);
}

void ThreadStateMachine::write_counts(int64_t running_since_ns, int64_t end_ns) {
  const bool is_known = row_counts_ != nullptr && row_counts_->is_of(running_since_ns, end_ns);
  for (size_t i = 0; i < slices_->counts.size(); ++i) {
    slices_->counts[i].push_back(is_known ? row_counts_->values[i] : SliceCounts::kUnknown);
  }
}

uint32_t ThreadStateMachine::tid_of(uint32_t id) const {
  const size_t known = lifecycle_.lives.size();
  return id < known ? lifecycle_.lives[id].tid : strays_[id - known].tid;
}

void ThreadStateMachine::finish() {
  for (uint32_t id = 0; id < threads_.size(); ++id) close_at_end(id);
  transitions_->flush();
}

void ThreadStateMachine::close_at_end(uint32_t id) {
  Thread& t = threads_[id];
  row_counts_ = nullptr;
  if (counts_of_slices_ != nullptr && (t.state == State::kRunning || t.is_guess)) {
    row_counts_ = &counts_of_slices_->still_running(tid_of(id));
  }
  switch (t.state) {
    case State::kUnborn:
    case State::kDead:
      return;
    case State::kRunning: {
      // Not even its exit record tells what was stolen: the kernel brings its count up to date at the next tick or
      // switch.
      const int64_t stolen_ns = end_running(id, end_ns_, nullptr, true);
      return transitions_->add(end_ns_, id, Level::kIdle, stolen_ns);
    }
    case State::kRunnable:
      t.running_since = end_ns_;
      if (t.is_guess) {  // no record of it in the whole window: it ran all the time
        t.running_since = t.runnable_since;
        end_running(id, end_ns_, nullptr, true);
        return;
      }
      break;
    case State::kBlocked:
      t.runnable_since = t.running_since = end_ns_;
      if (t.open_question != kNoTransition && end_ns_ - t.blocked_since < kOnItsWayNs &&
          transitions_->answer(t.open_question, Level::kRunnable)) {
        t.runnable_since = t.blocked_since;
        t.waking = t.pending;
      }
      break;
  }
  t.running_since = end_ns_;
  emit(id, end_ns_, 0, true);
}

}  // namespace headway
