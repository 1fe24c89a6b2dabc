#include "agent/causal/ledger/epochs.h"

#include "agent/causal/ledger/ledger.h"
#include "agent/causal/ledger/settle.h"

namespace headway::agent::causal {
namespace {

constinit std::atomic<uint64_t> epochs{0};  // odd: one ends just now
constinit std::atomic<int64_t> past_ns{0};  // delays of the epochs that have ended

}  // namespace

void change_epoch(bool spin) noexcept {
  epochs.fetch_add(1);
  past_ns.fetch_add(epoch_delay_ns());
  set_spinning(spin);
  ledger().begin_experiment();
  epochs.fetch_add(1);
}

int64_t epoch_delay_ns() noexcept { return ledger().delay_ns(); }
const std::atomic<int64_t>& epoch_delay_word() noexcept { return *ledger().delay_address(); }

int64_t inserted_ns() noexcept {
  int64_t ns = 0;
  // Who changes the epoch may have lost its core in the middle of that: not waited for.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const uint64_t epoch = epochs.load();
    ns = past_ns.load() + epoch_delay_ns();
    if (epoch % 2 == 0 && epochs.load() == epoch) break;
  }
  return ns;
}

void forget_inserted() noexcept { past_ns = 0; }

}  // namespace headway::agent::causal
