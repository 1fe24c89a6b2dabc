#include "agent/causal/sampling/sample_sums.h"

#include "agent/causal/sampling/lines.h"

namespace headway::agent::causal {
namespace {

struct Sums {
  std::atomic<uint64_t> samples{0};
  std::atomic<int64_t> out_of_scope_ns{0};
  std::atomic<int64_t> unread_ns{0};
  std::atomic<int64_t> old_code_ns{0};
  std::atomic<SampleListener> listener{nullptr};
};
constinit Sums sums;

void tell(DelayAccount& account, const Sample& sample) {
  if (const SampleListener listener = sums.listener.load(std::memory_order_acquire)) listener(account, sample);
}

}  // namespace

void set_sample_listener(SampleListener listener) noexcept { sums.listener.store(listener, std::memory_order_release); }

void clear_sample_sums() noexcept {
  sums.samples = 0;
  sums.out_of_scope_ns = 0;
  sums.unread_ns = 0;
  sums.old_code_ns = 0;
}

void count_sample(Sampled& thread, const Sample& sample) noexcept {
  sums.samples.fetch_add(1, std::memory_order_relaxed);
  // Of running threads only: these are shares of the CPU time.
  const int64_t run_ns = sample.is_blocked ? 0 : sample.weight_ns;
  if (sample.line == kNoLine) sums.out_of_scope_ns.fetch_add(run_ns, std::memory_order_relaxed);
  if (sample.line == kUnreadLine) sums.unread_ns.fetch_add(run_ns, std::memory_order_relaxed);
  if (sample.line > kUnreadLine && sample.is_old_code) sums.old_code_ns.fetch_add(run_ns, std::memory_order_relaxed);
  thread.is_out_of_scope.store(sample.line == kNoLine && !sample.is_blocked, std::memory_order_relaxed);
  tell(*thread.account, sample);
}

void count_wait(DelayAccount& account, const Sample& sample) noexcept { tell(account, sample); }
void count_one_more() noexcept { sums.samples.fetch_add(1, std::memory_order_relaxed); }

SampleSums sample_sums() noexcept {
  return {sums.samples.load(std::memory_order_relaxed), sums.out_of_scope_ns.load(std::memory_order_relaxed),
          sums.unread_ns.load(std::memory_order_relaxed), sums.old_code_ns.load(std::memory_order_relaxed)};
}

}  // namespace headway::agent::causal
