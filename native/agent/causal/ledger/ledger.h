// The bookkeeping of virtual speedups: the delay that every thread owes and has paid, so that one line looks faster.
//
// To owe: others ran in the faster line, so this thread must stand still as long. To pay, or to settle: to stand still.
// Credit: it has stood still for longer than it owed. To excuse: a debt that a faster program would not have caused is
// taken back.
//
// Knows nothing of the JVM; times come from its callers. No locks, no memory: every operation may be called in a signal
// handler.
//
// One number line for all experiments. `delay` (G) only grows; each experiment begins at a `base` that is beyond what
// anybody can have paid before. So P < base means "of an earlier experiment", and reads as P = base: all debts and
// credits are forgiven by one store, and Java code needs but one comparison: P >= G, then nothing is owed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace headway::agent::causal {

enum class WaitEnding {
  kWoken,     // by a thread of this JVM, just now
  kTimedOut,  // by time, a file, a socket
  kAsMarked,  // by a thread of this JVM if one called woken(), else by time
};

// A thread's clocks as read at one moment.
struct Clocks {
  int64_t wall_ns;
  int64_t cpu_ns;
  int64_t run_delay_ns;  // runnable without a CPU, since the thread began; < 0: not known
};

// One cache line is what others look at; the rest belongs to the thread itself (and to its signal handler).
struct alignas(256) DelayAccount {
  std::atomic<uint64_t> java_id;   // 0: free. First, then `paid`: Java code looks at both
  std::atomic<int64_t> paid;       // P, on the ledger's number line
  std::atomic<int64_t> wait_from;  // G when its wait began; 0: it does not wait
  std::atomic<int64_t> woken_at;   // G when a thread of the program woke it; 0: none has
  std::atomic<int64_t> woken_ns;   // and the time
  std::atomic<uint32_t> tid;
  std::atomic<bool> reads_own;    // when it was last seen asleep, it was for data that this process sends (own_io.h)
  std::atomic<bool> is_settling;  // pays just now: a signal handler in the middle of that must not
  std::atomic<const std::atomic<uintptr_t>*> stop_word;  // stop_word.h; null: unknown

  // --- the thread's own: since the last look at its clocks ---
  alignas(64) Clocks looked;
  int64_t looked_owed;  // what it owed then
  int64_t waited_ns;    // in waits that were excused since
  int64_t wait_from_ns;
  int64_t looked_asleep;  // what sleepers' hits, not its own, had added then
  int64_t wait_asleep;    // and when its wait began
  // What its own sleep added, or would have but for others'; written by a thread of the agent's, too.
  std::atomic<int64_t> own_asleep;
  Clocks recent;  // not moments but times: how it spent the last 20 ms or so, up to the last look

  // --- what it has paid, for weights and for the notes; written by the thread alone ---
  std::atomic<int64_t> spun_ns;       // CPU time spent on paying (not the program's: samples leave it out)
  std::atomic<int64_t> slept_ns;      // asked for
  std::atomic<int64_t> overslept_ns;  // slept longer than asked for

  // --- what it reported of its sleep when that began: for experiments that begin meanwhile (target.cpp) ---
  alignas(64) std::atomic<int64_t> sleeps_until;  // by the wall's clock; 0: it does not
  std::atomic<uint32_t> sleeps_in_line;
  std::atomic<bool> sleeps_in_target;   // Sample::in_target_method
  std::atomic<uint32_t> sleep_counted;  // the experiment that it was counted in
};

// The accounts of all threads, and the delay that they owe together.
class Ledger {
 public:
  static constexpr uint32_t kAccounts = 1U << 15;  // half of it is always to be had
  static constexpr uint32_t kMostProbes = 256;
  static constexpr int64_t kMostStoodNs = 5'000'000;
  static constexpr int64_t kMostCredit = int64_t{1} << 36;  // ns (68 s); nobody oversleeps longer

  // Maps the accounts; false: no address space.
  bool reserve() noexcept;
  void release() noexcept;  // for tests: that of a JVM stays
  // How many threads can run at the same time (excuse()).
  void set_cores(int cores) noexcept { cores_.store(cores, std::memory_order_relaxed); }

  // --- threads ---
  // Of a new thread: owes nothing, because its parent paid before it started it. Null: no room (counted).
  DelayAccount* open(uint64_t java_id, uint32_t tid) noexcept;
  // One account, whoever comes first: the thread itself, or who finds it among those that live. Not in a signal
  // handler.
  DelayAccount* find_or_open(uint64_t java_id, uint32_t tid, bool& is_new) noexcept;
  void close(DelayAccount& account) noexcept;
  DelayAccount* find(uint32_t java_id) const noexcept;  // by the lower half of its id
  DelayAccount* find_tid(uint32_t tid) const noexcept;  // looks at all
  uint32_t open_accounts() const noexcept { return open_.load(std::memory_order_relaxed); }
  uint32_t unprofiled_threads() const noexcept { return unprofiled_.load(std::memory_order_relaxed); }
  void clear_unprofiled() noexcept { unprofiled_.store(0, std::memory_order_relaxed); }
  template <typename Do>
  void each(Do&& act) const noexcept {
    const uint32_t end = used_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < end; ++i) {
      if (static_cast<uint32_t>(accounts_[i].java_id.load(std::memory_order_acquire)) != 0) act(accounts_[i]);
    }
  }

  // --- experiments: begun by one thread ---
  // Forgives all; returns the experiment's number for hit().
  uint32_t begin_experiment() noexcept;
  uint32_t experiment() const noexcept { return experiment_.load(std::memory_order_acquire); }
  // What everybody owes since the experiment began, collections included.
  int64_t delay_ns() const noexcept;
  // The thread's line would have been `delay_ns` faster: all others owe that. False: that experiment is over.
  bool hit(DelayAccount& account, int64_t delay_ns, uint32_t experiment) noexcept;
  // The same by a thread that sleeps in its line. It holds no core: who waits for one is not excused of this.
  bool hit_asleep(DelayAccount& account, int64_t delay_ns, uint32_t experiment) noexcept;
  // It slept in the line too while another thread's hit_asleep() did: it would have been faster at the same time, and
  // owes nothing.
  void excuse_hit(DelayAccount& account, int64_t ns, uint32_t experiment) noexcept;
  // All threads owe it, nobody is faster. False: that experiment is over.
  bool stop_all(int64_t delay_ns, uint32_t experiment) noexcept;
  // All threads would have gone on earlier by that (a pause of the collector): nobody owes it.
  void excuse_all(int64_t delay_ns) noexcept { shared_.fetch_add(delay_ns, std::memory_order_relaxed); }
  // Whether anybody can owe anything: while not, times need not be taken.
  bool has_delays() const noexcept {
    const int64_t delay = delay_.load(std::memory_order_acquire);
    return delay != base_.load(std::memory_order_acquire);
  }

  // --- paying ---
  // < 0: credit, from having slept too long.
  int64_t owed_ns(const DelayAccount& account) const noexcept;
  // False: nothing to pay; then Java code sees that by itself from now on.
  bool is_in_debt(DelayAccount& account) noexcept;
  // What it spent on paying. `experiment`: that it paid in; if that is over, it is forgotten.
  void pay(DelayAccount& account, int64_t ns, uint32_t experiment) noexcept;
  // Takes from its debt what others' hits added while it was runnable without a CPU, and notes the clocks.
  // `burns`: payment is CPU time now. Threads that wait for each other's cores with it would stand still for longer
  // than what sleepers added: of that, the share of time without a core is excused.
  void excuse(DelayAccount& account, const Clocks& now, bool burns = false) noexcept;
  // Notes the clocks only: what has passed since the last look was paying.
  void look(DelayAccount& account, const Clocks& now) noexcept;
  // A thread stood still for so long at a time. What that costs the program beyond the time itself (others take its
  // caches meanwhile) grows with its length at first.
  void stood(int64_t ns) noexcept { stood_.fetch_add(std::min(ns, kMostStoodNs), std::memory_order_relaxed); }
  // It did so for `ns`, where it would have for `shorter_ns`.
  void stood_longer(int64_t ns, int64_t shorter_ns) noexcept {
    stood(std::min(ns, kMostStoodNs) - std::min(shorter_ns, kMostStoodNs));
  }
  // The sum over all threads and stops.
  int64_t stood_ns() const noexcept { return stood_.load(std::memory_order_relaxed); }

  // --- waiting ---
  // It has settled. `now_ns`: 0 while !has_delays().
  void wait_begins(DelayAccount& account, int64_t now_ns) noexcept;
  // By `waker`, a thread of the program, which has settled; only the first one of a wait counts. What accrued while the
  // waker was paying, so that it still owes it, is not excused either.
  void woken(DelayAccount& account, const DelayAccount& waker, int64_t now_ns) noexcept;
  // True: a thread of the program woke it.
  bool wait_ends(DelayAccount& account, WaitEnding ending, int64_t now_ns) noexcept;

  // --- for Java code: `paid >= delay` at these addresses: nothing is owed ---
  const std::atomic<int64_t>* delay_address() const noexcept { return &delay_; }
  // The account of a thread, if it is not another's place, is at accounts() + java_id % kAccounts.
  const DelayAccount* accounts() const noexcept { return accounts_; }

 private:
  // False: that experiment is over.
  bool raise_delay(int64_t delay_ns, uint32_t experiment) noexcept;
  void add_paid(DelayAccount& account, int64_t ns) noexcept;
  // What others' hits have added while those slept.
  int64_t asleep_ns(const DelayAccount& account) const noexcept;

  alignas(64) std::atomic<int64_t> delay_{1};  // G; 0 is "none" in accounts
  alignas(64) std::atomic<int64_t> base_{1};   // always stored before the delay that begins there: read after it
  std::atomic<uint32_t> experiment_{0};
  std::atomic<int64_t> asleep_{0};  // of all delays, those while nobody ran: by threads that slept, and stops of all
  std::atomic<int64_t> stood_{0};
  std::atomic<int64_t> shared_{0};  // delay that nobody owes
  std::atomic<int> cores_{1};
  std::atomic<uint32_t> open_{0};
  std::atomic<uint32_t> unprofiled_{0};
  std::mutex opening_;                    // of find_or_open()
  std::atomic<uint32_t> most_probes_{0};  // so far: find() looks no further
  std::atomic<uint32_t> used_{0};         // places below this one
  DelayAccount* accounts_ = nullptr;
};

static_assert(sizeof(DelayAccount) == 256);
static_assert(offsetof(DelayAccount, paid) == 8, "Java code reads it there");

// The one of this JVM.
Ledger& ledger() noexcept;

}  // namespace headway::agent::causal
