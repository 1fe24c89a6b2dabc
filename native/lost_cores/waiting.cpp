// LossAccount: who runs, who is ready, and who waits for what.
#include "lost_cores/loss_account.h"

namespace headway {
namespace {

// Values of slice.blocked_in.
enum BlockedIn : uint8_t {
  kNotKnown,
  kFutex,
  kTimedFutex,
  kNanosleep,
  kPoll,
  kReadWrite,
  kSocket,
  kChild,
  kAnotherCall,
  kPageFault
};

// What a thread waits for that has nothing to do, or else none of its own.
bool is_idleness(Cause cause) {
  return cause == Cause::kSleep || cause == Cause::kIo || cause == Cause::kCondition || cause == Cause::kStarved;
}

}  // namespace

// Ends its wait, too: what it waits for from here on is said afterwards.
void LossAccount::set_level(uint32_t thread, Level level) {
  Thread& t = threads_[thread];
  is_dirty_ = true;
  if (t.is_waiting) end_wait(thread);
  const int running = (level == Level::kRunning ? 1 : 0) - (t.level == Level::kRunning ? 1 : 0);
  const int runnable = (level == Level::kRunnable ? 1 : 0) - (t.level == Level::kRunnable ? 1 : 0);
  const bool was_active = t.level >= Level::kRunnable, is_active = level >= Level::kRunnable;
  t.level = level;
  if (running != 0) count_running(t, running);
  if (t.kind == kAppKind) runnable_ += runnable;  // what the JVM's own threads wait for is no gain of the program's
  if (was_active != is_active) set_active(thread, is_active);
}

void LossAccount::set_active(uint32_t thread, bool is_active) {
  if (threads_[thread].kind == kAppKind) {
    active_ += is_active ? 1 : -1;
    active_xor_ ^= thread;
  }
  if (starved_on_[thread] != 0) list_starved(thread, is_active);
}

// What the JVM said. Who sleeps, reads, or waits for work or a signal without being needed waits in the background.
void LossAccount::wait_in_piece(uint32_t thread, const WaitPiece& piece) {
  const LossRow& row = rows_[piece.row];
  const bool is_timer = row.cause == Cause::kSleep || row.cause == Cause::kIo;
  const bool is_background = threads_[thread].is_background;
  const bool is_directed = piece.is_directed && !(is_background && is_idleness(row.cause));
  Role role = Role::kNone;
  // Who joins while nobody else has finished has a cause of its own; who waits for work has no thread that it waits
  // for.
  const bool is_join = row.cause == Cause::kImbalance || row.cause == Cause::kFew;
  if (!is_directed && row.thread >= 0 && is_join) role = Role::kJoins;
  if (!is_directed && row.thread >= 0 && row.cause == Cause::kStarved && !threads_[thread].hardly_runs)
    role = Role::kStarves;
  const Waits idle = row.cause == Cause::kIdle ? Waits::kOutside : is_timer ? Waits::kBackground : Waits::kIdle;
  begin_wait(thread, piece.row, is_directed ? Waits::kDirected : idle, role);
}

// What only the kernel knows.
void LossAccount::wait_in_kernel(uint32_t thread) {
  Thread& t = threads_[thread];
  LossRow row = kernel_row(thread);
  const bool is_timer = row.cause == Cause::kSleep || row.cause == Cause::kIo;
  // The JVM's helpers wait for its other threads all the time; that is no pause.
  const bool is_pause = row.cause == Cause::kGc || row.cause == Cause::kJit || row.cause == Cause::kSafepoint;
  if (t.is_background && is_pause) row.cause = Cause::kOthersWait;
  if (t.known_row == UINT32_MAX || !(rows_[t.known_row] == row)) t.known_row = rows_.number(row);
  const Waits idle = is_timer ? Waits::kBackground : Waits::kIdle;
  // Nothing that it waited for came before its process ended: who knows whether it would have run then.
  const bool is_in_vain = t.waker == kExit && row.cause == Cause::kBlocked;
  begin_wait(thread, t.known_row, t.is_background || is_in_vain ? idle : Waits::kDirected, Role::kNone);
}

LossRow LossAccount::kernel_row(uint32_t thread) const {
  const Thread& t = threads_[thread];
  const auto own = static_cast<int32_t>(thread);
  // A signal of headway's sampler ends a wait in the kernel, but it is not what the thread waits for.
  const bool is_known = t.waker >= 0 && static_cast<size_t>(t.waker) < threads_.size();
  const bool is_signal = is_known && threads_[static_cast<size_t>(t.waker)].kind == kHeadwayKind;
  switch (t.blocked_in) {
    case kNanosleep:
      return {-1, own, Cause::kSleep};
    case kPoll:
    case kReadWrite:
    case kSocket:
    case kChild:
    case kPageFault:
      return {-1, own, Cause::kIo};
    case kAnotherCall:
      return {-1, own, Cause::kBlocked};
    case kTimedFutex:
      if (t.waker < 0 || is_signal) return {-1, own, Cause::kSleep};
      break;
    default:
      break;
  }
  if (!is_known || is_signal) return {-1, own, Cause::kBlocked};
  switch (threads_[static_cast<size_t>(t.waker)].kind) {
    case kGcKind:
      return {-1, t.waker, Cause::kGc};
    case kJitKind:
      return {-1, t.waker, Cause::kJit};
    case kVmKind:
      return {-1, t.waker, Cause::kSafepoint};
    default:
      return {-1, t.waker, Cause::kOthersWait};
  }
}

void LossAccount::begin_wait(uint32_t thread, uint32_t row, Waits waits, Role role) {
  Thread& t = threads_[thread];
  t.is_waiting = true;
  t.row = row;
  t.waits = waits;
  t.owed_before = ledger_.owed(waits);
  ++waiting_[static_cast<int>(waits)];
  ledger_.count(waits, rows_[row].cause, 1);
  const int32_t target = rows_[row].thread;
  if (waits == Waits::kDirected && target >= 0) ++directed_on_[static_cast<size_t>(target)];
  begin_role(thread, role);
}

void LossAccount::end_wait(uint32_t thread) {
  Thread& t = threads_[thread];
  ledger_.charge(t.row, ledger_.owed(t.waits) - t.owed_before);
  ledger_.count(t.waits, rows_[t.row].cause, -1);
  --waiting_[static_cast<int>(t.waits)];
  const int32_t target = rows_[t.row].thread;
  if (t.waits == Waits::kDirected && target >= 0) --directed_on_[static_cast<size_t>(target)];
  end_role(thread);
  t.is_waiting = false;
}

void LossAccount::begin_role(uint32_t thread, Role role) {
  Thread& t = threads_[thread];
  t.role = role;
  if (role == Role::kJoins) joiners_.insert(joiner(thread));
  if (role != Role::kStarves) return;
  const auto target = static_cast<uint32_t>(rows_[t.row].thread);
  const bool is_at_work = threads_[target].level >= Level::kRunnable;
  if (is_at_work && starved_on_[target] != 0) list_starved(target, false);
  starved_.insert({target, pieces_[t.piece - 1].start_ns, thread});
  ++starved_on_[target];
  if (is_at_work) list_starved(target, true);
}

void LossAccount::end_role(uint32_t thread) {
  Thread& t = threads_[thread];
  if (t.role == Role::kJoins) joiners_.erase(joiner(thread));
  if (t.role == Role::kStarves) {
    const auto target = static_cast<uint32_t>(rows_[t.row].thread);
    const bool is_at_work = threads_[target].level >= Level::kRunnable;
    if (is_at_work) list_starved(target, false);
    starved_.erase({target, pieces_[t.piece - 1].start_ns, thread});
    --starved_on_[target];
    if (is_at_work && starved_on_[target] != 0) list_starved(target, true);
  }
  t.role = Role::kNone;
}

LossAccount::Joiner LossAccount::joiner(uint32_t thread) const {
  const Thread& t = threads_[thread];
  return {t.is_watcher, pieces_[t.piece - 1].start_ns, thread};
}

// The consumer that has waited longest for a producer that has any.
LossAccount::Starved LossAccount::first_starved(uint32_t target) const {
  return *starved_.lower_bound({target, INT64_MIN, 0});
}

void LossAccount::list_starved(uint32_t target, bool is_listed) {
  const auto [_, start_ns, consumer] = first_starved(target);
  if (is_listed) {
    longest_starved_.insert({start_ns, consumer});
  } else {
    longest_starved_.erase({start_ns, consumer});
  }
}

}  // namespace headway
