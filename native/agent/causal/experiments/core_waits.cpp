#include "agent/causal/experiments/core_waits.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "agent/causal/ledger/accounts.h"
#include "agent/core/clock.h"

namespace headway::agent::causal {
namespace {

struct Schedstat {
  int64_t ran_ns = 0;
  int64_t waited_ns = 0;
};

// False: the thread has ended, or this kernel counts no waits.
bool read_schedstat(uint32_t tid, Schedstat& found) {
  const std::string path = "/proc/self/task/" + std::to_string(tid) + "/schedstat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[96];
  const ssize_t length = read(file, text, sizeof(text));
  close(file);
  if (length <= 0) return false;
  const char* const end = text + length;
  const auto [space, error] = std::from_chars(text, end, found.ran_ns);
  if (error != std::errc() || space == end) return false;
  return std::from_chars(space + 1, end, found.waited_ns).ec == std::errc();
}

}  // namespace

void CoreWaits::begin() noexcept {
  uint32_t tids[kMostThreads];
  const uint32_t given = program_threads(tids, kMostThreads);
  begin_ns_ = monotonic_ns();
  count_ = 0;
  for (uint32_t i = 0; i < given; ++i) {
    Schedstat now;
    if (read_schedstat(tids[i], now)) threads_[count_++] = {tids[i], now.ran_ns, now.waited_ns};
  }
}

void CoreWaits::end() noexcept {
  int64_t ran_ns = 0;
  waited_ns_ = 0;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const Thread& then = threads_[i];
    Schedstat now;
    if (!read_schedstat(then.tid, now)) continue;
    ++seen;
    ran_ns += now.ran_ns - then.ran_ns;
    waited_ns_ += now.waited_ns - then.waited_ns;
  }
  const auto dur_ns = static_cast<double>(std::max<int64_t>(monotonic_ns() - begin_ns_, 1));
  const double unseen = seen == 0 ? 0 : std::max(1.0, static_cast<double>(ledger().open_accounts()) / seen);
  runnable_ = static_cast<double>(ran_ns + waited_ns_) / dur_ns * unseen;
}

}  // namespace headway::agent::causal
