#include "agent/causal/target/tally.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "agent/causal/common/notes.h"
#include "agent/causal/common/options.h"
#include "agent/causal/sampling/lines.h"
#include "agent/causal/sampling/sleepers.h"

namespace headway::agent::causal {
namespace {

constexpr uint32_t kOutOfScope = 0;  // lines that are none, by Sample::line
constexpr uint32_t kUnread = 1;
constexpr double kForgetNs = 3e9;  // what is so old counts half
constexpr int64_t kLongSleepNs = 10'000'000'000;

struct Sum {
  std::atomic<int64_t> running_ns{0};
  std::atomic<int64_t> blocked_ns{0};
  std::atomic<uint64_t> samples{0};
  std::atomic<int64_t> whole_ns{0};  // sleeps and timed waits
  std::atomic<uint32_t> whole{0};    // how many
};
// Made before the first sample, and never freed. Zeroed memory that nobody has touched takes none.
Sum* sums = nullptr;

struct Noted {
  std::vector<bool> lines;  // introduced
  uint64_t samples = 0;     // when the profile was last noted
};
Noted& noted() {
  static Noted* const instance = new Noted;
  return *instance;
}

std::string number(const char* key, int64_t value) { return std::string("\"") + key + "\":" + std::to_string(value); }

const char* kind_of(uint32_t line) {
  if (line == kMethodTarget) return "method";
  if (line == kLockTarget) return "lock";
  return line == kCollectionsTarget ? "gc" : "line";
}

LineFacts facts_of(uint32_t line) {
  LineFacts facts;
  if (line < kMostLines) {
    line_facts(line, facts);
    return facts;
  }
  const Place& place = causal_spec().target.place;
  facts.class_name = place.class_name;
  facts.method = place.method;
  if (place.line > 0) facts.line = place.line;
  return facts;
}

}  // namespace

void clear_tally() noexcept {
  if (sums == nullptr) sums = static_cast<Sum*>(calloc(kMostLines, sizeof(Sum)));
  if (sums == nullptr) abort();  // as any allocation that fails: no_exceptions.cpp
  for (uint32_t line = 0; line < std::max(line_limit(), kFirstLine); ++line) {
    sums[line].running_ns = 0;
    sums[line].blocked_ns = 0;
    sums[line].samples = 0;
    sums[line].whole_ns = 0;
    sums[line].whole = 0;
  }
  noted() = {};
}

void tally(const Sample& sample) noexcept {
  Sum& sum = sums[sample.line < kMostLines ? sample.line : kUnread];
  (sample.is_blocked ? sum.blocked_ns : sum.running_ns).fetch_add(sample.weight_ns, std::memory_order_relaxed);
  sum.samples.fetch_add(1, std::memory_order_relaxed);
  if (!sample.is_whole) return;
  sum.whole_ns.fetch_add(sample.weight_ns, std::memory_order_relaxed);
  sum.whole.fetch_add(1, std::memory_order_relaxed);
}

std::vector<Candidate> Recent::candidates(int64_t now_ns) {
  const int64_t elapsed_ns = then_ns_ == 0 ? 0 : now_ns - then_ns_;
  const double kept = then_ns_ == 0 ? 0 : 1 / (1 + static_cast<double>(elapsed_ns) / kForgetNs);
  then_ns_ = now_ns;
  const uint32_t limit = line_limit();
  weights_ns_.resize(limit);
  seen_ns_.resize(limit);
  asleep_ns_.resize(limit);
  may_sleep_ns_.resize(limit, static_cast<int64_t>(kForgetNs));
  runs_until_.resize(limit);
  std::vector<Candidate> found;
  for (uint32_t line = kFirstLine; line < limit; ++line) {
    const int64_t ran_ns = sums[line].running_ns.load(std::memory_order_relaxed);
    const int64_t blocked_ns = sums[line].blocked_ns.load(std::memory_order_relaxed);
    // However many threads sleep in a line at once, it can save no more than the time that passes; a long wait is told
    // of only at its end, so what was not used counts for some seconds.
    int64_t& may_sleep_ns = may_sleep_ns_[line];
    may_sleep_ns = std::min(may_sleep_ns + elapsed_ns, static_cast<int64_t>(kForgetNs));
    const int64_t all_ns = blocked_ns - asleep_ns_[line];
    const int64_t slept_ns = std::min(all_ns, may_sleep_ns);
    may_sleep_ns -= slept_ns;
    if (ran_ns > seen_ns_[line]) runs_until_[line] = std::max(runs_until_[line], now_ns);
    if (blocked_ns > asleep_ns_[line]) {
      runs_until_[line] = now_ns + std::min(blocked_ns - asleep_ns_[line], kLongSleepNs);
    }
    asleep_ns_[line] = blocked_ns;
    weights_ns_[line] = weights_ns_[line] * kept + static_cast<double>(ran_ns - seen_ns_[line] + slept_ns);
    seen_ns_[line] = ran_ns;
    const int64_t idle_ns = std::max<int64_t>(now_ns - runs_until_[line], 0);
    if (weights_ns_[line] < 1) continue;
    // Where several sleep at once, all others pay for one after the other.
    const int64_t together = all_ns / std::max(elapsed_ns, int64_t{1}) + 1;
    const int64_t sleep_ns = together * (sums[line].whole_ns.load() / std::max<int64_t>(sums[line].whole.load(), 1));
    found.push_back({line, static_cast<int64_t>(weights_ns_[line]), idle_ns, sleep_ns});
  }
  return found;
}

void introduce_line(uint32_t line) {
  std::vector<bool>& lines = noted().lines;
  if (line >= lines.size()) lines.resize(line + 1);
  if (lines[line]) return;
  lines[line] = true;
  const LineFacts facts = facts_of(line);
  note("line", number("id", line) + ",\"kind\":\"" + kind_of(line) + "\",\"class\":" + json_text(facts.class_name) +
                   ",\"method\":" + json_text(facts.method) + ",\"file\":" + json_text(facts.file) + ',' +
                   number("line", facts.line));
}

void note_profile(bool even_unchanged) {
  uint64_t samples = 0;
  std::string lines;
  const uint32_t limit = line_limit();
  for (uint32_t line = 0; line < std::max(limit, kFirstLine); ++line) {
    const uint64_t count = sums[line].samples.load(std::memory_order_relaxed);
    samples += count;
    if (line < kFirstLine || count == 0) continue;
    introduce_line(line);
    if (!lines.empty()) lines += ',';
    lines += '[' + std::to_string(line) + ',' + std::to_string(sums[line].running_ns.load()) + ',' +
             std::to_string(sums[line].blocked_ns.load()) + ',' + std::to_string(count) + ']';
  }
  if (samples == noted().samples && !even_unchanged) return;
  noted().samples = samples;
  const auto time_ns = [](uint32_t line) { return sums[line].running_ns.load(); };  // shares are of CPU time
  note("profile", "\"lines\":[" + lines + "]," + number("out_of_scope_ns", time_ns(kOutOfScope)) + ',' +
                      number("unread_ns", time_ns(kUnread)) + ",\"out_of_scope_methods\":[" + out_of_scope_methods() +
                      ']');
}

}  // namespace headway::agent::causal
