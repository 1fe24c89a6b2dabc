#include "agent/causal/blocking/reported_sleep.h"

#include "agent/causal/blocking/blocking.h"
#include "agent/causal/blocking/thread_accounts.h"
#include "agent/causal/common/activity.h"
#include "agent/causal/ledger/settle.h"
#include "agent/causal/sampling/sampling.h"
#include "agent/causal/target/target.h"
#include "agent/core/clock.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kReportedSleepNs = 100'000;  // shorter ones take as long as reporting them, and waking up

}  // namespace

// Its thread is in native code: it holds no lock of the JVM's, and safepoints don't wait for it while it pays.
ReportedSleep::ReportedSleep(int64_t ns) noexcept {
  DelayAccount* const account = account_here();
  if (account == nullptr || !is_on() || ns < kReportedSleepNs || !may_tell_sleep(ns)) return;
  settle(*account);
  account_ = account;
  sample_ = waiting_sample(ns);
  ledger().wait_begins(*account, time_if_delayed());  // as one that ends by its time: nobody looks where it sleeps
  from_ns_ = monotonic_ns();
  tell_sleep(*account, sample_);
}

// Who was interrupted early owes the rest of what it made others owe: so all stand still for as long as was reported.
ReportedSleep::~ReportedSleep() {
  if (account_ == nullptr) return;
  ledger().wait_ends(*account_, WaitEnding::kTimedOut, 0);
  sample_.weight_ns = monotonic_ns() - from_ns_;
  end_reported_sleep(*account_, sample_);
  settle(*account_);
}

}  // namespace headway::agent::causal
