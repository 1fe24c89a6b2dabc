#include "critical_path/critical_path.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "decode/slices/slices.h"

namespace headway {
namespace {

constexpr int64_t kFarNs = int64_t{1} << 60;  // 36 years: no sound time is beyond
constexpr int64_t kHandlerNs = 2'000'000;     // a signal's handler takes less CPU time: it walks a stack
constexpr int kNested = 4;                    // waits of one thread that may be inside each other

int64_t sound(int64_t ticks, int64_t tick_ns) {
  if (ticks <= 0 || tick_ns <= 0) return 0;
  return ticks > kFarNs / tick_ns ? kFarNs : ticks * tick_ns;
}

int64_t part(int64_t amount, int64_t length, int64_t whole) {
  if (whole <= 0 || amount <= 0) return 0;
  const auto share = static_cast<int64_t>(static_cast<__int128>(amount) * length / whole);
  return std::min(share, length);
}

uint8_t blocked_code(uint8_t flags, uint8_t blocked_in) {
  return static_cast<uint8_t>((flags & kBlockedStateMask) | (std::min<int>(blocked_in, 15) << 2));
}

}  // namespace

CriticalPath::CriticalPath(PathThreads threads, PathWaits waits, int32_t thread, int64_t from_ns, int64_t to_ns)
    : threads_(std::move(threads)),
      waits_(std::move(waits)),
      thread_(thread),
      from_ns_(from_ns),
      now_ns_(std::max(from_ns, to_ns)),
      last_(threads_.size()),
      arrived_ns_(threads_.size(), INT64_MAX),
      is_waiting_(threads_.size(), 0) {
  const size_t rows = waits_.start_ns.size();
  const size_t samplers = threads_.is_sampler.size();
  const size_t roles = threads_.role.size();
  if (threads_.parent.size() != threads_.size() || (samplers != 0 && samplers != threads_.size()) ||
      (roles != 0 && roles != threads_.size()) || waits_.first.size() != threads_.size() + 1 ||
      waits_.end_ns.size() != rows || waits_.waker.size() != rows || waits_.waking_ns.size() != rows) {
    throw std::invalid_argument("columns of different length");
  }
  if (waits_.first.front() != 0 || !std::is_sorted(waits_.first.begin(), waits_.first.end()) ||
      waits_.first.back() != static_cast<int64_t>(rows)) {
    throw std::invalid_argument("waits that are not in order of their threads");
  }
  if (thread < 0 || static_cast<size_t>(thread) >= threads_.size()) throw std::invalid_argument("no such thread");
  is_done_ = now_ns_ <= from_ns_;
}

void CriticalPath::batch(const PackedSlices& slices) {
  for (size_t row = slices.rows; row-- > 0 && !is_done_;) {
    const int64_t end_ns = sound(slices.end_ticks[row], slices.tick_ns[row]);
    if (end_ns > last_end_ns_) throw std::invalid_argument("slices that are not in order of their ends");
    last_end_ns_ = end_ns;
    advance(end_ns);
    remember(slices, row);
  }
}

void CriticalPath::finish() {
  advance(INT64_MIN);
  is_done_ = true;
}

PathPieces CriticalPath::take() { return std::exchange(pieces_, {}); }

void CriticalPath::remember(const PackedSlices& slices, size_t row) {
  const int32_t thread = slices.thread_id[row];
  if (thread < 0 || static_cast<size_t>(thread) >= last_.size()) return;
  const int64_t tick_ns = slices.tick_ns[row];
  Cycle& cycle = last_[static_cast<size_t>(thread)];
  const Cycle next = cycle;
  cycle.end_ns = sound(slices.end_ticks[row], tick_ns);
  cycle.start_ns = cycle.end_ns - sound(slices.running_ticks[row], tick_ns);
  cycle.woken_ns = cycle.start_ns - sound(slices.runnable_ticks[row], tick_ns);
  cycle.begin_ns = cycle.woken_ns - sound(slices.blocked_ticks[row], tick_ns);
  cycle.stolen_ns = sound(slices.stolen_ticks[row], tick_ns);
  cycle.waker = slices.waker_id[row];
  cycle.flags = slices.flags[row];
  cycle.blocked_in = slices.blocked_in != nullptr ? slices.blocked_in[row] : uint8_t{0};
  if (!is_signalled(cycle)) return;
  // A block that a handler's run cuts in two, in the same call: what ended the second part ended the first. Who waits in another
  // call then had no signal: it waited for that thread of headway, as a starting JVM does for its agent.
  const bool goes_on =
      next.begin_ns == cycle.end_ns && next.woken_ns > next.begin_ns && next.blocked_in == cycle.blocked_in;
  if (!goes_on || cycle.end_ns - cycle.start_ns > kHandlerNs) return;
  cycle.waker = next.waker;
  cycle.flags = static_cast<uint8_t>(cycle.flags | (next.flags & kWakerIrq));
}

bool CriticalPath::is_signalled(const Cycle& cycle) const {
  if ((cycle.flags & kWakerIrq) != 0 || cycle.waker < 0) return false;
  const auto waker = static_cast<size_t>(cycle.waker);
  return waker < threads_.is_sampler.size() && threads_.is_sampler[waker] != 0;
}

// Goes on as far as the slices allow that end after next_end_ns.
void CriticalPath::advance(int64_t next_end_ns) {
  while (!is_done_ && now_ns_ > next_end_ns) {
    if (!step(next_end_ns)) return;
  }
}

// One step; false: it takes older slices to go on.
bool CriticalPath::step(int64_t next_end_ns) {
  if (now_ns_ <= from_ns_) {
    is_done_ = true;
    return true;
  }
  if (!frames_.empty() && now_ns_ <= frames_.back().bound_ns) {
    come_back();
    return true;
  }
  const Cycle& cycle = last_[static_cast<size_t>(thread_)];
  const int64_t birth_ns = threads_.birth_ns[static_cast<size_t>(thread_)];
  if (cycle.begin_ns < now_ns_ && cycle.end_ns >= now_ns_) {
    on_cycle(cycle);
    return true;
  }
  if (birth_ns >= now_ns_) {
    go_to_parent();
    return true;
  }
  const int64_t floor_ns = std::max(bound(), birth_ns);
  if (cycle.begin_ns < now_ns_) {  // an older slice has come, and it ends before now
    const bool is_first = cycle.end_ns <= floor_ns && floor_ns == birth_ns;
    put(std::max(cycle.end_ns, floor_ns), is_first ? OnPath::kStarting : OnPath::kNoRecord);
    return true;
  }
  if (next_end_ns >= floor_ns) return false;
  put(floor_ns, floor_ns == birth_ns ? OnPath::kStarting : OnPath::kNoRecord);
  return true;
}

// The thread is in this cycle just before now.
void CriticalPath::on_cycle(const Cycle& cycle) {
  if (now_ns_ > cycle.start_ns) {
    const int64_t from_ns = std::max(cycle.start_ns, bound());
    const int64_t stolen_ns = part(cycle.stolen_ns, now_ns_ - from_ns, cycle.end_ns - cycle.start_ns);
    put(from_ns, OnPath::kRunning, stolen_ns);
    return;
  }
  if (now_ns_ > cycle.woken_ns) {
    put(std::max(cycle.woken_ns, bound()), OnPath::kRunnable);
    return;
  }
  const int32_t wait = wait_of(thread_, cycle.begin_ns, cycle.woken_ns);
  if (now_ns_ == cycle.woken_ns && follow_waker(cycle, wait)) return;
  put(std::max(cycle.begin_ns, bound()), block_state(cycle), 0, blocked_code(cycle.flags, cycle.blocked_in), wait);
}

// Goes to the thread that ended this cycle's block, if it is known and was not on the path at this instant.
bool CriticalPath::follow_waker(const Cycle& cycle, int32_t wait) {
  if ((cycle.flags & kWakerIrq) != 0) return false;
  if (cycle.waker >= 0) {
    if (!can_follow(cycle.waker, now_ns_)) return false;
    follow(cycle.waker, cycle, wait);
    return true;
  }
  if (cycle.waker != -1 || wait < 0) return false;
  // The kernel does not say: the JVM may.
  const int32_t waker = waits_.waker[static_cast<size_t>(wait)];
  int64_t waking_ns = waits_.waking_ns[static_cast<size_t>(wait)];
  if (waking_ns == PathWaits::kWhenWoken) waking_ns = now_ns_;
  if (waking_ns <= cycle.begin_ns || waking_ns > now_ns_ || !can_follow(waker, waking_ns)) return false;
  if (waking_ns < now_ns_) {  // woken, and no CPU was free
    const int64_t from_ns = std::max(waking_ns, bound());
    put(from_ns, OnPath::kRunnable);
    if (from_ns != waking_ns) return true;
  }
  follow(waker, cycle, wait);
  return true;
}

bool CriticalPath::can_follow(int32_t thread, int64_t ns) const {
  if (thread < 0 || static_cast<size_t>(thread) >= threads_.size() || thread == thread_) return false;
  const auto id = static_cast<size_t>(thread);
  return is_waiting_[id] == 0 && arrived_ns_[id] != ns && threads_.birth_ns[id] < ns;
}

void CriticalPath::follow(int32_t waker, const Cycle& cycle, int32_t wait) {
  if (is_asked_by(waker)) {
    go_over(waker);
    return;
  }
  frames_.push_back({thread_, wait, std::max(cycle.begin_ns, bound()), blocked_code(cycle.flags, cycle.blocked_in)});
  is_waiting_[static_cast<size_t>(thread_)] = 1;
  arrived_ns_[static_cast<size_t>(thread_)] = now_ns_;
  arrived_ns_[static_cast<size_t>(waker)] = now_ns_;
  thread_ = waker;
  ++followed_;
}

// The path is on a thread of the VM, which had nothing to do until the program asked for it, as System.exit does.
bool CriticalPath::is_asked_by(int32_t waker) const {
  if (threads_.role.empty()) return false;
  const auto role_of = [this](int32_t thread) { return PathRole{threads_.role[static_cast<size_t>(thread)]}; };
  return role_of(thread_) == PathRole::kVm && role_of(waker) == PathRole::kProgram;
}

// Goes to another thread, and does not come back to this one.
void CriticalPath::go_over(int32_t thread) {
  arrived_ns_[static_cast<size_t>(thread_)] = now_ns_;
  arrived_ns_[static_cast<size_t>(thread)] = now_ns_;
  thread_ = thread;
  ++followed_;
}

// The thread is not born yet: the one that made it led here.
void CriticalPath::go_to_parent() {
  const int32_t parent = threads_.parent[static_cast<size_t>(thread_)];
  if (can_follow(parent, now_ns_)) {
    go_over(parent);
    return;
  }
  if (frames_.empty()) {
    put(from_ns_, OnPath::kNoRecord);
    return;
  }
  // Nobody knows what led here: what is left is that the other thread waited.
  const Frame frame = frames_.back();
  frames_.pop_back();
  is_waiting_[static_cast<size_t>(frame.thread)] = 0;
  thread_ = frame.thread;
  put(std::max(frame.bound_ns, from_ns_), OnPath::kCut, 0, frame.blocked, frame.wait);
}

void CriticalPath::come_back() {
  thread_ = frames_.back().thread;
  is_waiting_[static_cast<size_t>(thread_)] = 0;
  arrived_ns_[static_cast<size_t>(thread_)] = now_ns_;
  frames_.pop_back();
}

OnPath CriticalPath::block_state(const Cycle& cycle) const {
  if ((cycle.flags & kWakerIrq) != 0) return OnPath::kInterrupted;
  if (cycle.waker == -2) return OnPath::kOutside;
  const bool is_open = (cycle.flags & kIsOpen) != 0 && cycle.woken_ns == cycle.end_ns;
  return now_ns_ < cycle.woken_ns || is_open ? OnPath::kCut : OnPath::kUnknown;
}

// The innermost wait of the thread that holds part of a block.
int32_t CriticalPath::wait_of(int32_t thread, int64_t begin_ns, int64_t end_ns) const {
  const auto first = waits_.start_ns.begin() + waits_.first[static_cast<size_t>(thread)];
  const auto last = waits_.start_ns.begin() + waits_.first[static_cast<size_t>(thread) + 1];
  auto at = std::lower_bound(first, last, end_ns);
  for (int i = 0; i < kNested && at != first; ++i) {
    --at;
    const auto row = at - waits_.start_ns.begin();
    if (waits_.end_ns[static_cast<size_t>(row)] > begin_ns) return static_cast<int32_t>(row);
  }
  return -1;
}

int64_t CriticalPath::bound() const { return frames_.empty() ? from_ns_ : std::max(from_ns_, frames_.back().bound_ns); }

// The present thread is in this state from from_ns to now.
void CriticalPath::put(int64_t from_ns, OnPath state, int64_t stolen_ns, uint8_t blocked, int32_t wait) {
  from_ns = std::max(from_ns, from_ns_);
  if (from_ns >= now_ns_) return;
  pieces_.thread.push_back(thread_);
  pieces_.start_ns.push_back(from_ns);
  pieces_.end_ns.push_back(now_ns_);
  pieces_.stolen_ns.push_back(stolen_ns);
  pieces_.state.push_back(static_cast<uint8_t>(state));
  pieces_.blocked.push_back(blocked);
  pieces_.wait.push_back(wait);
  pieces_.waiter.push_back(frames_.empty() ? -1 : frames_.back().thread);
  pieces_.waiter_wait.push_back(frames_.empty() ? -1 : frames_.back().wait);
  pieces_.waiter_blocked.push_back(frames_.empty() ? uint8_t{0} : frames_.back().blocked);
  now_ns_ = from_ns;
}

}  // namespace headway
