// Account: who runs, who is ready, and who waits for what.
#include "account/account.h"

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

}  // namespace

void Account::enter(uint32_t thread, Level level) {
  Thread& t = threads_[thread];
  t.level = level;
  is_dirty_ = true;
  if (level == Level::kRunning) {
    count_running(t, 1);
  } else if (level == Level::kRunnable && t.kind < kHeadwayKind) {
    ++runnable_;
  }
  if (level >= Level::kRunnable) set_active(thread, true);
}

void Account::leave(uint32_t thread) {
  Thread& t = threads_[thread];
  if (t.level == Level::kNone) return;
  is_dirty_ = true;
  if (t.level == Level::kRunning) {
    count_running(t, -1);
  } else if (t.level == Level::kRunnable && t.kind < kHeadwayKind) {
    --runnable_;
  }
  if (t.level >= Level::kRunnable) set_active(thread, false);
  if (t.is_waiting) end_wait(thread);
  t.level = Level::kNone;
}

void Account::set_active(uint32_t thread, bool is_active) {
  if (threads_[thread].kind == kAppKind) {
    active_ += is_active ? 1 : -1;
    active_xor_ ^= thread;
  }
  if (starved_[thread] == 0) return;
  if (is_active) {
    producers_.insert(thread);
  } else {
    producers_.erase(thread);
  }
}

// What the JVM said. Who sleeps or reads without being needed waits in the background.
void Account::wait_in_piece(uint32_t thread, const WaitPiece& piece) {
  const LossRow& row = rows_[piece.row];
  const bool is_timer = row.cause == Cause::kSleep || row.cause == Cause::kIo;
  const bool is_directed = piece.is_directed && !(is_timer && threads_[thread].is_background);
  Role role = Role::kNone;
  // Who joins while nobody else has finished has a cause of its own; who waits for work has no thread that it waits
  // for.
  const bool is_join = row.cause == Cause::kImbalance || row.cause == Cause::kFew;
  if (!is_directed && row.thread >= 0 && is_join) role = Role::kJoins;
  if (!is_directed && row.thread >= 0 && row.cause == Cause::kStarved) role = Role::kStarves;
  const Waits idle = is_timer ? Waits::kBackground : Waits::kIdle;
  begin_wait(thread, piece.row, is_directed ? Waits::kDirected : idle, role);
}

// What only the kernel knows.
void Account::wait_in_kernel(uint32_t thread) {
  Thread& t = threads_[thread];
  LossRow row = kernel_row(thread);
  const bool is_timer = row.cause == Cause::kSleep || row.cause == Cause::kIo;
  // The JVM's helpers wait for its other threads all the time; that is no pause.
  const bool is_pause = row.cause == Cause::kGc || row.cause == Cause::kJit || row.cause == Cause::kSafepoint;
  if (t.is_background && is_pause) row.cause = Cause::kOthersWait;
  if (t.known_row == UINT32_MAX || !(rows_[t.known_row] == row)) t.known_row = rows_.number(row);
  const Waits idle = is_timer ? Waits::kBackground : Waits::kIdle;
  begin_wait(thread, t.known_row, t.is_background ? idle : Waits::kDirected, Role::kNone);
}

LossRow Account::kernel_row(uint32_t thread) const {
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

void Account::begin_wait(uint32_t thread, uint32_t row, Waits waits, Role role) {
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

void Account::end_wait(uint32_t thread) {
  Thread& t = threads_[thread];
  ledger_.charge(t.row, ledger_.owed(t.waits) - t.owed_before);
  ledger_.count(t.waits, rows_[t.row].cause, -1);
  --waiting_[static_cast<int>(t.waits)];
  const int32_t target = rows_[t.row].thread;
  if (t.waits == Waits::kDirected && target >= 0) --directed_on_[static_cast<size_t>(target)];
  end_role(thread);
  t.is_waiting = false;
}

void Account::begin_role(uint32_t thread, Role role) {
  Thread& t = threads_[thread];
  t.role = role;
  if (role == Role::kJoins) joiners_.insert({pieces_[t.piece - 1].start_ns, thread});
  if (role != Role::kStarves) return;
  const auto target = static_cast<uint32_t>(rows_[t.row].thread);
  uint32_t& first = starved_[target];
  if (first == 0 && threads_[target].level >= Level::kRunnable) producers_.insert(target);
  t.previous_starved = 0;
  t.next_starved = first;
  if (first != 0) threads_[first - 1].previous_starved = thread + 1;
  first = thread + 1;
}

void Account::end_role(uint32_t thread) {
  Thread& t = threads_[thread];
  if (t.role == Role::kJoins) joiners_.erase({pieces_[t.piece - 1].start_ns, thread});
  if (t.role == Role::kStarves) {
    const auto target = static_cast<uint32_t>(rows_[t.row].thread);
    if (t.next_starved != 0) threads_[t.next_starved - 1].previous_starved = t.previous_starved;
    if (t.previous_starved != 0) {
      threads_[t.previous_starved - 1].next_starved = t.next_starved;
    } else {
      starved_[target] = t.next_starved;
      if (t.next_starved == 0) producers_.erase(target);
    }
  }
  t.role = Role::kNone;
}

}  // namespace headway
