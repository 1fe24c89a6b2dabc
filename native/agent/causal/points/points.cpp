// While points are armed, JVMTI's ClassFileLoadHook is on: classes get their calls as they are loaded, without a
// safepoint for each, and keep them when another agent retransforms them.
#include "agent/causal/points/points.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "agent/causal/common/notes.h"
#include "agent/causal/common/options.h"
#include "agent/causal/common/point_match.h"
#include "agent/causal/points/loaded_classes.h"
#include "agent/causal/points/point_class.h"
#include "agent/causal/points/point_list.h"
#include "agent/causal/points/point_loading.h"
#include "agent/causal/sections/lock_target.h"
#include "agent/core/clock.h"
#include "agent/state/state.h"

namespace headway::agent::causal {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kPatienceNs = 2 * kSecond;  // for a class to be loaded, before it is said to be missing
constexpr uint64_t kTooOften = 1'000'000;     // entries of a candidate in a second: it is no unit of work
constexpr size_t kMostClasses = 20'000;       // whose names are compared

void set_class_files(bool on) {
  agent().jvmti->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
}

// --- the list --------------------------------------------------------------------------------------------------------

uint32_t add_pair(std::string_view name, const Place& begin, const Place& end) {
  const auto number = static_cast<int32_t>(points().pairs.size());
  const Point* first = add_point(PointKind::kLatencyBegin, name, begin, Call::kTimed, number);
  const Point* last = add_point(PointKind::kLatencyEnd, name, end, Call::kTimed, number);
  if (first == nullptr || last == nullptr) return 0;
  const std::lock_guard locked(points().mutex);
  points().pairs.push_back({first->id, last->id});
  return first->cell;
}

// A point of the program's own code. `base`: nothing, if the cell is new: other threads may count in it already.
Point* add_api_point(PointKind kind, std::string_view name, uint32_t cell, int32_t latency, const Visits& base) {
  Point* const point = add_point(kind, name, Place{}, kind == PointKind::kApi ? Call::kHit : Call::kTimed, latency);
  if (point == nullptr) return nullptr;
  point->cell = static_cast<uint16_t>(cell);
  point->base = base;
  point->places = 1;
  note_point(*point);
  return point;
}

void add_api_pair(std::string_view name, uint32_t cell, const Visits& begun, const Visits& ended) {
  const std::lock_guard one_at_a_time(points().pair_mutex);  // or two pairs would get one number
  const auto number = static_cast<int32_t>(latency_pairs().size());
  const Point* first = add_api_point(PointKind::kLatencyBegin, name, cell, number, begun);
  const Point* last = add_api_point(PointKind::kLatencyEnd, name, cell + 1, number, ended);
  const std::lock_guard locked(points().mutex);
  if (first != nullptr && last != nullptr) points().pairs.push_back({first->id, last->id});
}

void list_points() {
  Points& self = points();
  self.count = 0;
  self.pairs.clear();
  self.next_cell = 1;
  self.seen.clear();
  self.has_files = self.has_lines = false;
  const Spec& spec = causal_spec();
  for (const ProgressPoint& asked : spec.progress) {
    add_point(asked.place.line != 0 ? PointKind::kLine : PointKind::kMethod, asked.name, asked.place, Call::kHit, -1);
  }
  for (const LatencyPoints& asked : spec.latency) add_pair(asked.name, asked.begin, asked.end);
  for (uint32_t i = 0; i < self.count; ++i) {
    self.has_files = self.has_files || names_source_file(self.all[i]->place);
    self.has_lines = self.has_lines || self.all[i]->place.line != 0;
    note_point(*self.all[i]);
  }
  for (const auto& [name, cell] : self.api_cells) add_api_point(PointKind::kApi, name, cell, -1, count_of_cell(cell));
  for (const auto& [name, cell] : self.api_pairs) {
    add_api_pair(name, cell, count_of_cell(cell), count_of_cell(cell + 1));
  }
}

// --- notes -----------------------------------------------------------------------------------------------------------

std::string json_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + json_text(name);
  return '[' + list + ']';
}

// Of the classes that are loaded now, asked for at most once per recording.
std::vector<std::string> class_names(JNIEnv* jni) {
  std::vector<std::string> names;
  for_each_loaded(jni, [&](jclass, const std::string& name) {
    if (names.size() < kMostClasses && !name.starts_with("java/") && !name.starts_with("jdk/") &&
        !name.starts_with("sun/")) {
      names.push_back(dotted(name));
    }
  });
  return names;
}

void look_for_missing(JNIEnv* jni) {
  const bool patience_is_over = monotonic_ns() - points().armed_ns > kPatienceNs;
  std::vector<std::string> loaded;
  const uint32_t count = points().count.load();
  for (uint32_t i = 0; i < count; ++i) {
    Point& point = *points().all[i];
    if (!point.is_asked_for() || point.are_near_names_reported) continue;
    std::string reason;
    std::vector<std::string> near;
    {
      const std::lock_guard locked(points().mutex);
      reason = point.reason;
      near = point.near;
    }
    const bool fits = point.places.load() > 0;
    if (reason.empty() && !fits && patience_is_over) {
      if (loaded.empty()) loaded = class_names(jni);
      reason = "no_class";
      near = nearest_names(point.place.class_name, loaded);
    }
    if (reason.empty() || fits != (reason == "ambiguous")) continue;
    point.are_near_names_reported = true;
    note("near", "\"name\":" + json_text(point.name) + ",\"where\":" + json_text(point.place.text) +
                     ",\"reason\":" + json_text(reason) + ",\"near\":" + json_list(near));
  }
}

// What is entered a million times a second costs more than it tells.
void give_up_hot_candidates(JNIEnv* jni) {
  std::set<std::string> classes;
  const uint32_t count = points().count.load();
  for (uint32_t i = 0; i < count; ++i) {
    Point& point = *points().all[i];
    if (point.kind != PointKind::kCandidate || point.is_given_up) continue;
    const uint64_t now = count_of_cell(point.cell).count;
    if (now - point.seen_count > kTooOften) {
      point.is_given_up = true;
      std::string name = point.place.class_name;
      std::ranges::replace(name, '.', '/');
      classes.insert(name);
    }
    point.seen_count = now;
  }
  if (!classes.empty()) {
    retransform_loaded(jni, [&](jclass, const std::string& name) { return classes.contains(name); });
  }
}

// --- the program's own code ------------------------------------------------------------------------------------------

uint32_t api_point(std::string_view name) {
  Points& self = points();
  uint32_t cell = 0;
  {
    const std::lock_guard locked(self.mutex);
    if (const auto known = self.api_cells.find(name); known != self.api_cells.end()) return known->second;
    if (self.top_cell <= self.next_cell) return 0;
    cell = self.top_cell--;
    self.api_cells.emplace(name, cell);
  }
  if (self.is_armed.load()) add_api_point(PointKind::kApi, name, cell, -1, {});
  return cell;
}

uint32_t api_pair(std::string_view name) {
  Points& self = points();
  uint32_t cell = 0;
  {
    const std::lock_guard locked(self.mutex);
    if (const auto known = self.api_pairs.find(name); known != self.api_pairs.end()) return known->second;
    if (self.top_cell <= self.next_cell + 1) return 0;
    self.top_cell -= 2;
    cell = self.top_cell + 1;
    self.api_pairs.emplace(name, cell);
  }
  if (self.is_armed.load()) add_api_pair(name, cell, {}, {});
  return cell;
}

}  // namespace

// --- on and off ------------------------------------------------------------------------------------------------------

bool arm_points(JNIEnv* jni) noexcept {
  Points& self = points();
  jvmtiCapabilities wanted{};
  wanted.can_retransform_classes = 1;
  wanted.can_get_bytecodes = 1;
  wanted.can_get_source_file_name = 1;
  const char* obstacle = agent().jvmti->AddCapabilities(&wanted) == JVMTI_ERROR_NONE
                             ? define_point_class(jni, {api_point, api_pair})
                             : "the JVM allows no retransformation";
  if (obstacle != nullptr) {
    problem("HW609", obstacle);
    return false;
  }
  list_points();
  clear_sections();
  self.settles = !causal_spec().suggest;
  switch_settling(jni, self.settles);
  self.armed_ns = monotonic_ns();
  self.is_armed.store(true, std::memory_order_release);
  set_class_files(true);  // before the look at what is loaded: no class falls in between
  arming_points = true;
  retransform_loaded(jni, wants_loaded);
  arming_points = false;
  note_loaded_waits(jni);
  resolve_loaded_sections(jni);
  return true;
}

// A class that was being loaded just when points were armed had no event before.
void instrument_class(JNIEnv*, jclass type, std::string_view name) noexcept {
  Points& self = points();
  if (!self.is_armed.load(std::memory_order_acquire)) return;
  std::string internal_name(name);
  std::ranges::replace(internal_name, '.', '/');
  resolve_sections(type, internal_name);
  if (!is_named_by_a_point(internal_name, {}) || is_off_limits(internal_name)) return;
  {
    const std::lock_guard locked(self.mutex);
    if (self.seen.contains(internal_name)) return;
  }
  arming_points = true;
  agent().jvmti->RetransformClasses(1, &type);
  arming_points = false;
}

void poll_points(JNIEnv* jni) noexcept {
  if (!points().is_armed.load() || jni->PushLocalFrame(64) != JNI_OK) return;
  look_for_missing(jni);
  resolve_loaded_sections(jni);
  poll_sections(false);
  if (causal_spec().suggest) give_up_hot_candidates(jni);
  jni->PopLocalFrame(nullptr);
}

void disarm_points(JNIEnv* jni) noexcept {
  Points& self = points();
  if (!self.is_armed.exchange(false)) return;
  switch_settling(jni, false);
  set_class_files(false);
  std::set<std::string, std::less<>> changed;
  {
    const std::lock_guard locked(self.mutex);
    changed.swap(self.changed);
  }
  retransform_loaded(jni, [&](jclass, const std::string& name) { return changed.contains(name); });
}

// --- counts ----------------------------------------------------------------------------------------------------------

uint32_t point_count() noexcept { return points().count.load(std::memory_order_acquire); }

std::vector<LatencyPair> latency_pairs() noexcept {
  const std::lock_guard locked(points().mutex);
  return points().pairs;
}

Visits visits(uint32_t point) noexcept {
  if (point >= point_count()) return {};
  const Point& found = *points().all[point];
  const Visits now = count_of_cell(found.cell);
  return {now.count - found.base.count,
          static_cast<int64_t>(static_cast<uint64_t>(now.clock_ns) - static_cast<uint64_t>(found.base.clock_ns))};
}

}  // namespace headway::agent::causal
