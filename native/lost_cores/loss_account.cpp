#include "lost_cores/loss_account.h"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

constexpr int64_t kFarFuture = INT64_MAX / 4;
constexpr int64_t kHandlerNs = 2'000'000;  // a signal's handler takes less CPU time: it walks a stack

// Ticks as ns, within what can be added up without an overflow.
int64_t ns_of(int64_t ticks, int64_t tick_ns) {
  constexpr int64_t kUsual = int64_t{1} << 46, kUsualTick = 1 << 10;
  if (ticks < kUsual && ticks > -kUsual && tick_ns > 0 && tick_ns <= kUsualTick) return ticks * tick_ns;
  const __int128 ns = static_cast<__int128>(ticks) * tick_ns;
  return static_cast<int64_t>(std::clamp<__int128>(ns, -kFarFuture, kFarFuture));
}

// `part` of `whole` as a rate; 0 <= part <= whole. By a division of doubles, quicker than one of integers: it may be
// off by one, which its remainder tells.
int64_t part_of(int64_t part, int64_t whole) {
  if (part >= int64_t{1} << 31) return static_cast<int64_t>((static_cast<__int128>(part) << kRateBits) / whole);
  const int64_t scaled = part << kRateBits;
  const auto quotient = static_cast<int64_t>(static_cast<double>(scaled) / static_cast<double>(whole));
  const auto remainder = static_cast<int64_t>(static_cast<uint64_t>(scaled) -
                                              static_cast<uint64_t>(quotient) * static_cast<uint64_t>(whole));
  return quotient - (remainder < 0 ? 1 : 0) + (remainder >= whole ? 1 : 0);
}

AccountOptions checked(AccountOptions options) {
  options.to_ns = std::max(options.from_ns, options.to_ns);
  if (!(options.cores >= 0)) options.cores = 0;
  std::vector<int64_t> cuts;
  for (const int64_t cut : options.cuts) {
    if (cut > options.from_ns && cut < options.to_ns) cuts.push_back(cut);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  options.cuts = std::move(cuts);
  return options;
}

}  // namespace

LossAccount::LossAccount(AccountOptions options, AccountThreads threads, const WaitColumns& waits,
                         const SpanColumns& spans, const OtherColumns& others, const ProbeColumns& probes)
    : options_(checked(std::move(options))),
      pieces_(waits, &rows_),
      changes_(spans, others, options_.from_ns, options_.to_ns),
      probes_(probes),
      probe_results_(probes.rows),
      next_probe_(probes.rows),
      ledger_(&rows_, options_.cores, options_.from_ns, options_.to_ns, options_.bin_ns),
      platform_(threads.kind.size()),
      next_(std::max({platform_, pieces_.threads(), static_cast<size_t>(pieces_.highest_target() + int64_t{1})})),
      now_ns_(options_.to_ns) {
  const size_t all = next_.threads();
  threads_.resize(all);
  directed_on_.resize(all);
  starved_on_.resize(all);
  serial_rows_.assign(all, UINT32_MAX);
  unknown_row_ = rows_.number({-1, -1, Cause::kUnknown});
  ready_row_ = rows_.number({-1, -1, Cause::kScheduler});
  quota_row_ = rows_.number({-1, -1, Cause::kQuota});
  pause_row_ = rows_.number({-1, -1, Cause::kGc});
  safepoint_row_ = rows_.number({-1, -1, Cause::kSafepoint});
  startup_row_ = rows_.number({-1, -1, Cause::kStart});
  shutdown_row_ = rows_.number({-1, -1, Cause::kEnd});
  few_row_ = rows_.number({-1, -1, Cause::kFew});
  for (uint32_t thread = 0; thread < all; ++thread) {
    Thread& t = threads_[thread];
    t.piece = pieces_.last(thread);
    t.is_virtual = thread >= platform_;
    t.kind = t.is_virtual ? kAppKind : threads.kind[thread];
    const auto role =
        thread < threads.background.size() ? static_cast<WorkRole>(threads.background[thread]) : WorkRole::kWorker;
    t.is_background = role == WorkRole::kBackground || role == WorkRole::kWatcher;
    t.hardly_runs = role != WorkRole::kWorker;
    t.is_watcher = role == WorkRole::kWatcher;
    if (thread < threads.exit_ns.size()) t.exit_ns = threads.exit_ns[thread];
    if (!t.is_virtual) continue;
    // No slices tell of it: it waits whenever its pieces say so.
    t.start_ns = t.woken_ns = options_.to_ns;
    t.begin_ns = options_.from_ns;
    settle(thread);
  }
}

bool LossAccount::batch(const SliceColumns& slices) {
  for (size_t i = slices.rows; i-- > 0;) {
    const auto ns = [&](int64_t ticks) { return ns_of(ticks, slices.tick_ns); };
    int64_t end = ns(slices.end_ticks[i]);
    if (end <= options_.from_ns) {
      // In order, nothing but slices from before the window follows.
      step_to(options_.from_ns);
      return false;
    }
    if (slices.thread_id[i] < 0 || static_cast<size_t>(slices.thread_id[i]) >= platform_) continue;
    if (end > before_ns_) ++out_of_order_;
    end = std::min(end, before_ns_);
    before_ns_ = end;
    step_to(std::min(end, options_.to_ns));
    const auto thread = static_cast<uint32_t>(slices.thread_id[i]);
    Thread& t = threads_[thread];
    const uint8_t flags = slices.flags[i];
    const int64_t running = ns(std::max<int64_t>(slices.running_ticks[i], 0));
    const int64_t runnable = (flags & kRunnableUnknown) != 0 ? 0 : ns(std::max<int64_t>(slices.runnable_ticks[i], 0));
    const int64_t blocked = ns(std::max<int64_t>(slices.blocked_ticks[i], 0));
    const int64_t woken = end - running - runnable;
    const int32_t woken_by = (flags & kWakerIrq) != 0 ? -1 : std::max(slices.waker_id[i], -1);
    const int32_t waker = ended_by(thread, woken >= t.exit_ns ? kExit : woken_by, end - running, end);
    t.next_begin_ns = blocked > 0 ? woken - blocked : INT64_MAX;
    t.next_waker = waker;
    // Most of what lies behind the window is of no interest: not even the last slice of its thread, going backwards.
    if (woken - blocked >= now_ns_ && t.level == Level::kNone) continue;
    const int64_t stolen = (flags & kStolenUnknown) != 0 ? 0 : ns(std::max<int64_t>(slices.stolen_ticks[i], 0));
    set_level(thread, Level::kNone);  // at the rates that it had
    t.start_ns = end - running;
    t.woken_ns = t.start_ns - runnable;
    t.begin_ns = t.woken_ns - blocked;
    t.stolen = running > 0 ? part_of(std::min(stolen, running), running) : 0;
    t.waker = waker;
    t.blocked_in = slices.blocked_in != nullptr ? slices.blocked_in[i] : 0;
    settle(thread);
  }
  return true;
}

// Who ended a block, going by the slice that it belongs to. A signal of headway's sampler ends one in the kernel only:
// the thread runs its handler and goes on waiting for what ends the next block.
int32_t LossAccount::ended_by(uint32_t thread, int32_t waker, int64_t ran_from_ns, int64_t end_ns) const {
  const Thread& next = threads_[thread];
  const bool is_signal = waker >= 0 && static_cast<size_t>(waker) < threads_.size() &&
                         threads_[static_cast<size_t>(waker)].kind == kHeadwayKind;
  const bool goes_on = next.next_begin_ns == end_ns && end_ns - ran_from_ns <= kHandlerNs;
  return is_signal && goes_on ? next.next_waker : waker;
}

// What the thread does just before now, and until when (backwards).
void LossAccount::settle(uint32_t thread) {
  Thread& t = threads_[thread];
  // Each part of a slice begins no later than the next one: as many as begin before now tell which it is in.
  const int parts = (t.start_ns < now_ns_ ? 1 : 0) + (t.woken_ns < now_ns_ ? 1 : 0) + (t.begin_ns < now_ns_ ? 1 : 0);
  const auto level = static_cast<Level>(parts);
  set_level(thread, level);
  int64_t next = level == Level::kRunning ? t.start_ns : t.woken_ns;
  if (level <= Level::kBlocked) next = level == Level::kBlocked ? enter_block(thread) : TournamentTree::kNever;
  next_.set(thread, next > options_.from_ns ? next : TournamentTree::kNever);
}

// Returns until when (backwards) it waits for the same.
int64_t LossAccount::enter_block(uint32_t thread) {
  Thread& t = threads_[thread];
  if (t.kind != kAppKind) return t.begin_ns;
  const uint32_t first = pieces_.first(thread);
  while (t.piece > first && pieces_[t.piece - 1].start_ns >= now_ns_) --t.piece;
  if (t.piece > first) {
    const WaitPiece& piece = pieces_[t.piece - 1];
    if (piece.end_ns >= now_ns_) {
      wait_in_piece(thread, piece);
      return std::max(t.begin_ns, piece.start_ns);
    }
    if (!t.is_virtual) wait_in_kernel(thread);
    return std::max(t.begin_ns, piece.end_ns);
  }
  if (!t.is_virtual) wait_in_kernel(thread);
  return t.begin_ns;
}

void LossAccount::step_to(int64_t ns) {
  ns = std::max(ns, options_.from_ns);
  while (now_ns_ > ns) {
    const int64_t change_ns = changes_.next_ns();
    const int64_t cut_ns = options_.cuts.empty() ? INT64_MIN : options_.cuts.back();
    const int64_t next = std::max({next_.top_ns(), change_ns, cut_ns, ns});
    advance(next);
    if (cut_ns == next) cut();
    if (change_ns == next) {
      changes_.step_to(next);
      is_dirty_ = is_used_dirty_ = true;
    }
    // What happens at `ns` itself comes after the slice that ends there: of the same thread, it takes its place.
    if (next == ns) break;
    while (next_.top_ns() == next) settle(next_.top());
  }
}

// Lets time pass at the present states, back to ns.
void LossAccount::advance(int64_t ns) {
  while (now_ns_ > ns) {
    const int64_t until = std::max(ns, ledger_.bin_start_ns());
    if (is_dirty_) divide();
    pay(static_cast<double>(now_ns_ - until));
    for (; next_probe_ > 0 && probes_.ns[next_probe_ - 1] >= until; --next_probe_) {
      if (probes_.ns[next_probe_ - 1] < now_ns_) probe(next_probe_ - 1);
    }
    now_ns_ = until;
    if (now_ns_ == ledger_.bin_start_ns()) ledger_.next_bin();
  }
}

// A segment begins here: everybody who waits is charged to it.
void LossAccount::cut() {
  if (!options_.cuts.empty()) options_.cuts.pop_back();
  for (Thread& t : threads_) {
    if (!t.is_waiting) continue;
    const double owed = ledger_.owed(t.waits);
    ledger_.charge(t.row, owed - t.owed_before);
    t.owed_before = owed;
  }
  ledger_.close_segment(now_ns_);
}

void LossAccount::finish() {
  step_to(options_.from_ns);
  options_.cuts.clear();
  cut();
}

}  // namespace headway
