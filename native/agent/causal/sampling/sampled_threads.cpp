// A handler finds its own thread by its OS id, without a lock.
#include "agent/causal/sampling/sampled_threads.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "agent/causal/ledger/accounts.h"
#include "agent/causal/sampling/periods.h"
#include "agent/core/clock.h"
#include "agent/core/old_glibc.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

constexpr uint32_t kBuckets = 1U << 14;
constexpr uint32_t kMostProbes = 256;
constexpr int64_t kLeastCalledNs = 500'000;  // a signal costs a hundredth of that
constexpr uint32_t kMostCalled = 64;         // at a time
constexpr uint32_t kMostLookedAt = 512;      // at a time, to see whether they are to be called
constexpr int64_t kBetweenCallsNs = 200'000;

struct Table {
  std::mutex mutex;            // guards all but what handlers read
  std::vector<Sampled*> all;   // ever made
  std::vector<Sampled*> free;  // of them
  std::atomic<uint32_t> without_timer{0};
  std::atomic<int64_t> called_ns{0};  // when threads were last called to pay
  uint32_t called_at = 0;             // where that ended
};
Table& table() {
  static Table* const instance = new Table;
  return *instance;
}
constinit std::array<std::atomic<Sampled*>, kBuckets> buckets{};  // for handlers
constinit std::atomic<bool> is_switched_on{false};
constinit std::atomic<int> signal_number{0};

Sampled* take_place(Table& self) {
  for (size_t i = self.free.size(); i-- > 0;) {
    Sampled* const thread = self.free[i];
    if (thread->is_inside.load()) continue;  // of an earlier recording, still paying
    self.free.erase(self.free.begin() + static_cast<ptrdiff_t>(i));
    return thread;
  }
  auto* const thread = new Sampled;
  self.all.push_back(thread);
  return thread;
}

void prepare_place(Sampled& thread, DelayAccount& account, uint32_t tid) {
  thread.account = &account;
  thread.reader.faults = 0;
  thread.jni.store(nullptr, std::memory_order_relaxed);
  thread.java_thread.store(nullptr, std::memory_order_relaxed);
  thread.counted_cpu_ns = std::max<int64_t>(cpu_ns_of(tid), 0);
  thread.counted_spun_ns = spun_ns(account);
  thread.until_look = kSamplesBetweenLooks;
  thread.is_out_of_scope.store(false, std::memory_order_relaxed);
  thread.look.seen_ns = monotonic_ns();
  thread.look.interval_ns = 0;
  thread.look.cpu_ns = -1;
  thread.look.turns = -1;
  thread.look.same_sleep = false;
  thread.look.weight_ns.store(0, std::memory_order_relaxed);
  thread.look.is_known.store(false, std::memory_order_relaxed);
  thread.is_called.store(false, std::memory_order_relaxed);
  thread.paid_cpu_ns = 0;
}

// Under the lock.
void take_out(Table& self, Sampled& thread) {
  const uint32_t tid = thread.tid.load(std::memory_order_relaxed);
  std::atomic<Sampled*>* link = &buckets[tid % kBuckets];
  while (Sampled* const at = link->load(std::memory_order_relaxed)) {
    if (at == &thread) {
      link->store(at->next.load(std::memory_order_relaxed), std::memory_order_release);
      break;
    }
    link = &at->next;
  }
  thread.tid.store(0, std::memory_order_release);
  tell_usual_cost(thread);
  stop_timer(thread.timer);
  self.free.push_back(&thread);
}

Sampled* find_locked(Table& self, const DelayAccount& account) {
  const auto found = std::find_if(self.all.begin(), self.all.end(), [&](const Sampled* thread) {
    return thread->account == &account && thread->tid.load(std::memory_order_relaxed) != 0;
  });
  return found == self.all.end() ? nullptr : *found;
}

bool is_to_pay(const Sampled& thread) {
  const int state = agent().hotspot.thread_state(thread.java_thread.load(std::memory_order_relaxed));
  return state == HotSpot::kInJava && !thread.account->is_settling.load(std::memory_order_relaxed) &&
         ledger().owed_ns(*thread.account) >= kLeastCalledNs;
}

}  // namespace

bool is_sampling() noexcept { return is_switched_on.load(); }
bool switch_sampling(bool on) noexcept { return is_switched_on.exchange(on); }
int sampling_signal() noexcept { return signal_number.load(); }
void set_sampling_signal(int number) noexcept { signal_number.store(number); }

uint32_t this_tid() noexcept { return static_cast<uint32_t>(syscall(SYS_gettid)); }

Sampled* find_sampled(uint32_t tid) noexcept {
  Sampled* at = buckets[tid % kBuckets].load(std::memory_order_acquire);
  // The way may lead astray while another thread of the bucket ends: then a sample is missed.
  for (uint32_t i = 0; at != nullptr && i < kMostProbes; ++i) {
    if (at->tid.load(std::memory_order_acquire) == tid) return at;
    at = at->next.load(std::memory_order_acquire);
  }
  return nullptr;
}

void each_sampled(uint32_t* position, uint32_t most, bool (*act)(Sampled&, void*), void* context) noexcept {
  Table& self = table();
  const std::lock_guard<std::mutex> guard(self.mutex);
  const size_t count = self.all.size();
  for (size_t i = 0; i < std::min<size_t>(count, most); ++i) {
    *position = (*position + 1) % static_cast<uint32_t>(count);
    Sampled& thread = *self.all[*position];
    if (thread.tid.load(std::memory_order_relaxed) != 0 && !act(thread, context)) return;
  }
}

// Who is on the way into a wait or out of it pays there. Where the table is being changed, or others were called just
// now, they pay at their next samples: nobody waits here.
void call_to_pay() noexcept {
  Table& self = table();
  const int64_t now = monotonic_ns();
  int64_t last = self.called_ns.load(std::memory_order_relaxed);
  if (now - last < kBetweenCallsNs || !self.called_ns.compare_exchange_strong(last, now)) return;
  const std::unique_lock<std::mutex> guard(self.mutex, std::try_to_lock);
  if (!guard.owns_lock() || !is_sampling()) return;
  const auto count = static_cast<uint32_t>(self.all.size());
  uint32_t called = 0;
  for (uint32_t i = 0; i < std::min(count, kMostLookedAt) && called < kMostCalled; ++i) {
    self.called_at = (self.called_at + 1) % count;
    Sampled& thread = *self.all[self.called_at];
    const uint32_t tid = thread.tid.load(std::memory_order_relaxed);
    if (tid == 0 || !is_to_pay(thread)) continue;
    thread.is_called.store(true, std::memory_order_release);
    syscall(SYS_tgkill, getpid(), tid, sampling_signal());
    ++called;
  }
}

void arm_timer(DelayAccount& account, uint32_t tid) noexcept {
  Table& self = table();
  if (!is_sampling()) return;
  CpuTimer timer = start_timer(tid);  // its first signal finds nobody yet, or comes later
  const std::lock_guard<std::mutex> guard(self.mutex);
  Sampled* const before = find_sampled(tid);
  const bool is_armed = before != nullptr && before->account == &account;
  if (!is_sampling() || is_armed || cpu_ns_of(tid) < 0) {
    stop_timer(timer);
    return;
  }
  if (timer.kind == CpuTimer::Kind::kNone) self.without_timer.fetch_add(1, std::memory_order_relaxed);
  if (before != nullptr) take_out(self, *before);  // a thread that ended while it was being armed
  Sampled* const thread = take_place(self);
  prepare_place(*thread, account, tid);
  thread->timer = timer;
  thread->first_period_ns = timer.period_ns;
  take_usual_period(*thread);
  std::atomic<Sampled*>& first = buckets[tid % kBuckets];
  thread->next.store(first.load(std::memory_order_relaxed), std::memory_order_relaxed);
  thread->tid.store(tid, std::memory_order_release);
  first.store(thread, std::memory_order_release);
}

// The lock first: who looks at the table when sampling ends still sees this thread there, which must not end meanwhile.
void disarm_timer(DelayAccount& account) noexcept {
  Table& self = table();
  const std::lock_guard<std::mutex> guard(self.mutex);
  if (!is_sampling()) return;
  Sampled* thread = find_sampled(this_tid());
  if (thread == nullptr || thread->account != &account) thread = find_locked(self, account);
  if (thread != nullptr) take_out(self, *thread);
}

void begin_sampled() noexcept { table().without_timer = 0; }

void forget_sampled() noexcept {
  Table& self = table();
  const std::lock_guard<std::mutex> guard(self.mutex);
  for (Sampled* thread : self.all) {
    if (thread->tid.load(std::memory_order_relaxed) != 0) take_out(self, *thread);
  }
}

uint32_t threads_without_timer() noexcept { return table().without_timer.load(std::memory_order_relaxed); }

}  // namespace headway::agent::causal
