#include "agent/causal/experiments/progress_notes.h"

#include <cstdint>
#include <iterator>
#include <string>

#include "agent/causal/common/notes.h"
#include "agent/causal/ledger/accounts.h"
#include "agent/causal/points/points.h"
#include "agent/causal/sampling/running_code.h"
#include "agent/causal/sampling/sampling.h"

namespace headway::agent::causal {
namespace {

std::string number(const char* key, int64_t value) { return std::string("\"") + key + "\":" + std::to_string(value); }

}  // namespace

void note_hits() {
  std::string points;
  for (uint32_t point = 0; point < point_count(); ++point) {
    if (!points.empty()) points += ',';
    points += '[' + std::to_string(point) + ',' + std::to_string(visits(point).count) + ']';
  }
  note("hits", "\"points\":[" + points + ']');
}

void note_health() {
  const SamplingHealth health = sampling_health();
  const Payments paid = payments();
  std::string refused;
  for (size_t code = 0; code < std::size(health.refused); ++code) {
    if (health.refused[code] == 0) continue;
    if (!refused.empty()) refused += ',';
    refused += "\"-" + std::to_string(code) + "\":" + std::to_string(health.refused[code]);
  }
  look_for_libraries();
  note("health", number("samples", static_cast<int64_t>(health.samples)) + ',' +
                     number("faults", static_cast<int64_t>(health.faults)) + ",\"refused\":{" + refused +
                     "},\"unread\":{" + unread_members() + "}," + number("old_code_ns", health.old_code_ns) + ',' +
                     number("safepoint_lines", health.has_all_lines ? 0 : 1) + ',' +
                     number("found_frames", static_cast<int64_t>(health.found_frames)) + ',' +
                     number("late_payments", static_cast<int64_t>(paid.late)) + ',' + number("threads", paid.threads) +
                     ',' + number("unprofiled_threads", paid.unprofiled_threads) + ',' +
                     number("run_delays", static_cast<int64_t>(paid.run_delays)) + ',' +
                     number("unknown_run_delays", static_cast<int64_t>(paid.unknown_run_delays)) + ',' +
                     number("threads_without_timer", health.threads_without_timer) + ',' +
                     number("spin_ns", paid.spin_ns) + ',' + number("slept_ns", paid.slept_ns) + ',' +
                     number("overslept_ns", paid.overslept_ns) + ',' +
                     number("lost_notes", static_cast<int64_t>(lost_notes())));
}

}  // namespace headway::agent::causal
