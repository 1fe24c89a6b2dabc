#include "agent/causal/common/options.h"

#include <charconv>
#include <optional>

#include "agent/core/options.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kMostMilliseconds = 24LL * 3600 * 1000;
constexpr int64_t kLeastPeriodUs = 100;  // more often, and the program does little but take samples
constexpr int64_t kMostPeriodUs = 1'000'000;

struct Pair {
  std::string_view first;
  std::string_view second;
};

std::optional<Pair> split(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return std::nullopt;
  return Pair{text.substr(0, at), text.substr(at + 1)};
}

std::optional<int64_t> number(std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

std::optional<Place> place(std::string_view text) {
  Place found{.text = std::string(text)};
  if (const size_t colon = text.rfind(':'); colon != std::string_view::npos && colon > 0) {
    const auto line = number(text.substr(colon + 1), 1, INT32_MAX);
    if (!line) return std::nullopt;
    found.class_name = text.substr(0, colon);
    found.line = static_cast<int32_t>(*line);
    return found;
  }
  const size_t bracket = text.find('(');
  if (bracket != std::string_view::npos) found.descriptor = text.substr(bracket);
  text = text.substr(0, bracket);
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == text.size()) return std::nullopt;
  found.class_name = text.substr(0, dot);
  found.method = text.substr(dot + 1);
  return found;
}

std::optional<Target> target(std::string_view text) {
  if (text == "gc") return Target{TargetKind::kCollections, {.text = "gc"}};
  const auto parts = split(text, '=');
  if (!parts) return std::nullopt;
  const std::string_view kind = parts->first;
  const auto where = place(parts->second);
  if (kind == "lock" && where && where->line != 0) return Target{TargetKind::kLock, *where};
  if (kind == "lock") {  // whether the last part is a method classes tell
    const std::string name(parts->second);
    return Target{TargetKind::kLock, {.text = name, .class_name = name}};
  }
  if (!where || (kind != "line" && kind != "method") || (kind == "line") != (where->line != 0)) return std::nullopt;
  return Target{kind == "line" ? TargetKind::kLine : TargetKind::kMethod, *where};
}

bool read_progress(Spec& spec, std::string_view value) {
  const auto named = split(value, '=');
  const auto where = named ? place(named->second) : std::nullopt;
  if (where) spec.progress.push_back({std::string(named->first), *where});
  return where.has_value();
}

bool read_latency(Spec& spec, std::string_view value) {
  const auto named = split(value, '=');
  const auto ends = named ? split(named->second, ',') : std::nullopt;
  const auto begin = ends ? place(ends->first) : std::nullopt;
  const auto end = ends ? place(ends->second) : std::nullopt;
  if (begin && end) spec.latency.push_back({std::string(named->first), *begin, *end});
  return begin && end;
}

bool read_target(Spec& spec, std::string_view value) {
  const auto found = target(value);
  if (found) spec.target = *found;
  return found.has_value();
}

template <typename Value>
bool read_number(Value& value, std::string_view text, int64_t least, int64_t most, int64_t unit = 1) {
  const auto found = number(text, least, most);
  if (found) value = static_cast<Value>(*found * unit);
  return found.has_value();
}

bool read(Spec& spec, std::string_view key, std::string_view value) {
  if (key == "progress") return read_progress(spec, value);
  if (key == "latency") return read_latency(spec, value);
  if (key == "target") return read_target(spec, value);
  if (key == "speedup") return read_number(spec.speedup_pct, value, 0, 100);
  if (key == "period_us") {
    return spec.period_is_asked = read_number(spec.period_ns, value, kLeastPeriodUs, kMostPeriodUs, kMicrosecond);
  }
  if (key == "warmup_ms") return read_number(spec.warmup_ns, value, 0, kMostMilliseconds, kMillisecond);
  if (key == "experiment_ms") return read_number(spec.experiment_ns, value, 1, kMostMilliseconds, kMillisecond);
  if (key == "min_visits") return read_number(spec.min_visits, value, 1, INT32_MAX);
  if (key == "seed") return read_number(spec.seed, value, 0, INT64_MAX);
  if (key == "scope" && !value.empty()) spec.scope.emplace_back(value);
  if (key == "suggest") spec.suggest = value == "1";
  return key != "scope" || !value.empty();
}

Spec& present() {
  static Spec* const instance = new Spec;  // never destroyed: threads may look until the process ends
  return *instance;
}

}  // namespace

Spec parse_spec(std::string_view text) {
  Spec spec;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(';'));
    text.remove_prefix(pair.size() < text.size() ? pair.size() + 1 : text.size());
    const size_t colon = pair.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string value = percent_decode(pair.substr(colon + 1));
    if (!read(spec, pair.substr(0, colon), value)) {
      spec.problems.push_back(std::string(pair.substr(0, colon)) + " can't be '" + value + "'");
    }
  }
  return spec;
}

const Spec& causal_spec() noexcept { return present(); }
void set_causal_spec(Spec spec) noexcept { present() = std::move(spec); }

}  // namespace headway::agent::causal
