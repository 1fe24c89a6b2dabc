// What a causal recording was asked to do: the agent's option `causal=SPEC`. SPEC is `key:value` pairs separated by
// semicolons, values percent-encoded; unknown keys are skipped, so that an older agent takes a newer recorder's
// options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway::agent::causal {

// "com.acme.Server.handle", "com.acme.Server.handle(II)V" or "com.acme.Server:42".
struct Place {
  std::string text;  // as it was given
  std::string class_name{};
  std::string method{};      // empty: a line
  std::string descriptor{};  // "(II)V", where it was given; may be cut short: "(II)"
  int32_t line = 0;          // 0: a method
};

struct ProgressPoint {
  std::string name;
  Place place;
};

struct LatencyPoints {
  std::string name;
  Place begin;
  Place end;
};

enum class TargetKind : uint8_t { kNone, kLine, kMethod, kLock, kCollections };
struct Target {
  TargetKind kind = TargetKind::kNone;
  Place place{};  // of kLock a line, or all as a class name: it may end in a method
};

constexpr int kNoSpeedup = -1;

struct Spec {
  std::vector<ProgressPoint> progress;
  std::vector<LatencyPoints> latency;
  std::vector<std::string> scope;  // globs of class names; empty: all but the JDK's, Kotlin's, Scala's and headway's
  Target target;                   // kNone: lines are chosen by samples
  int speedup_pct = kNoSpeedup;    // with a target: one experiment from start to end; alone: all experiments have it
  bool suggest = false;            // no experiments: how often would which method be a progress point?
  int64_t period_ns = 1'000'000;   // of samples, CPU time
  bool period_is_asked = false;    // for that length: what samples cost is then the user's affair
  int64_t warmup_ns = 0;           // before the first experiment
  int64_t experiment_ns = 0;       // length of each; 0: adapts
  int min_visits = 20;             // of a progress point within an experiment, for a length that adapts
  uint64_t seed = 1;
  std::vector<std::string> problems;  // what could not be read, for the notes
};

Spec parse_spec(std::string_view text);

// Of the recording that runs: set before begin_causal starts anything, and not changed while it is on.
const Spec& causal_spec() noexcept;
void set_causal_spec(Spec spec) noexcept;

}  // namespace headway::agent::causal
