// In JVMTI's ClassFileLoadHook: no JNI here, no locks of the JVM; the class's bytes are all there is.
#include "agent/causal/points/point_loading.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/causal/common/options.h"
#include "agent/causal/common/point_match.h"
#include "agent/causal/points/point_class.h"
#include "agent/causal/points/point_list.h"
#include "agent/causal/sections/lock_target.h"
#include "agent/classfile/class_facts.h"
#include "agent/classfile/class_insert.h"
#include "agent/classfile/class_patch.h"
#include "agent/core/scope.h"
#include "agent/state/state.h"

namespace headway::agent::causal {

namespace {

constexpr uint32_t kMostCandidates = 2000;

constexpr CallSite kApiSites[] = {
    {headway::agent::Opcode::kInvokeStatic, kApiClass, "find", "(Ljava/lang/String;)I", "", "point",
     "(Ljava/lang/String;)I"},
    {headway::agent::Opcode::kInvokeStatic, kApiClass, "findPair", "(Ljava/lang/String;)I", "", "pair",
     "(Ljava/lang/String;)I"},
    {headway::agent::Opcode::kInvokeStatic, kApiClass, "count", "(I)V", "", "hit", "(I)V"},
    {headway::agent::Opcode::kInvokeStatic, kApiClass, "time", "(I)V", "", "timed", "(I)V"},
};

// What is to be inserted into a class, and for which point each is (null: none).
struct Wanted {
  std::vector<Insert> inserts;
  std::vector<Point*> points;

  void add(const Insert& insert, Point* point) {
    inserts.push_back(insert);
    points.push_back(point);
  }
};

void say_near(Point& point, std::string_view reason, std::vector<std::string> near) {
  const std::lock_guard locked(points().mutex);
  if (!point.reason.empty() && point.places.load() == 0 && reason == "no_line" && point.reason != "no_line") return;
  point.reason = reason;
  point.near = std::move(near);
}

void want_method(const ClassFacts& facts, const std::string& class_name, Point& point, Wanted& wanted) {
  const Choice choice = choose_methods(facts, point.place);
  for (const MethodFacts* method : choice.methods) {
    wanted.add({InsertAt::kEntry, point.call, point.cell, method->name, method->descriptor, 0}, &point);
  }
  std::vector<std::string> names;
  if (choice.is_ambiguous) {
    for (const MethodFacts* method : choice.methods) {
      if (names.size() == kMostNear) break;
      names.push_back(class_name + '.' + std::string(method->name) + '(' + java_parameters(method->descriptor) + ')');
    }
    say_near(point, "ambiguous", std::move(names));
  } else if (choice.methods.empty() && means_class(point.place.class_name, class_name)) {
    std::vector<std::string> others;
    for (const MethodFacts& method : facts.methods) {
      if (method.code_bytes == 0) continue;
      if (method.name == point.place.method) {  // with other parameters
        names.push_back(std::string(method.name) + '(' + java_parameters(method.descriptor) + ')');
      } else {
        others.emplace_back(method.name);
      }
    }
    others = nearest_names(point.place.method, others);
    names.insert(names.end(), others.begin(), others.end());
    names.resize(std::min(names.size(), kMostNear));
    for (std::string& name : names) name.insert(0, class_name + '.');
    say_near(point, "no_method", std::move(names));
  }
}

void want_line(const ClassFacts& facts, const std::string& class_name, Point& point, Wanted& wanted) {
  const std::vector<uint16_t> numbers = numbers_of_line(facts, class_name, point.place);
  for (const uint16_t number : numbers) {
    wanted.add({InsertAt::kLine, point.call, point.cell, {}, {}, number}, &point);
  }
  const bool is_meant = may_be_in(point.place, class_name) || is_source_of(point.place, class_name, facts.source_file);
  if (!numbers.empty() || !is_meant) return;
  // A nested class need not have it.
  if (class_name.find('$') != std::string::npos && !means_class(point.place.class_name, class_name)) return;
  std::vector<std::string> names;
  for (const int32_t line : nearest_lines(facts, point.place.line)) {
    names.push_back(class_name + ':' + std::to_string(line));
  }
  say_near(point, has_line_numbers(facts) ? "no_line" : "no_line_numbers", std::move(names));
}

// --- candidates (--suggest) ------------------------------------------------------------------------------------------

void add_candidates(const ClassFacts& facts, const std::string& class_name) {
  for (const MethodFacts& method : facts.methods) {
    if (!looks_like_work(facts, method)) continue;
    if (points().count.load() >= kMostCandidates) return;
    const auto same_name = [&](const MethodFacts& other) { return other.name == method.name; };
    const bool is_overloaded = std::ranges::count_if(facts.methods, same_name) > 1;
    const std::string name = class_name + '.' + std::string(method.name);
    Place place{.text = is_overloaded ? name + '(' + java_parameters(method.descriptor) + ')' : name};
    place.class_name = class_name;
    place.method = method.name;
    place.descriptor = method.descriptor;
    add_point(PointKind::kCandidate, place.text, place, Call::kHit, -1);
  }
}

void want_candidates(const ClassFacts& facts, const std::string& class_name, bool is_new, Wanted& wanted) {
  if (is_new) add_candidates(facts, class_name);
  const uint32_t count = points().count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    Point& point = *points().all[i];
    if (point.kind != PointKind::kCandidate || point.is_given_up || point.place.class_name != class_name) continue;
    const auto is_it = [&](const MethodFacts& method) {
      return method.name == point.place.method && method.descriptor == point.place.descriptor;
    };
    const auto method = std::ranges::find_if(facts.methods, is_it);
    if (method == facts.methods.end()) continue;
    wanted.add({InsertAt::kEntry, Call::kHit, point.cell, method->name, method->descriptor, 0}, &point);
  }
}

Wanted what_goes_into(const ClassFacts& facts, const std::string& class_name, bool is_new) {
  Wanted wanted;
  const uint32_t count = points().count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    Point& point = *points().all[i];
    if (!point.is_asked_for()) continue;
    if (point.place.line != 0) {
      want_line(facts, class_name, point, wanted);
    } else if (may_be_in(point.place, class_name)) {
      want_method(facts, class_name, point, wanted);
    }
  }
  const bool is_ours = in_scope(causal_spec().scope, class_name);
  if (is_ours && causal_spec().suggest) want_candidates(facts, class_name, is_new, wanted);
  const bool locks = std::ranges::any_of(facts.methods, &MethodFacts::locks);
  if (points().settles && is_ours && locks) wanted.add({InsertAt::kRelease, Call::kSettle, 0, {}, {}, 0}, nullptr);
  if (points().settles && facts.name == "java/lang/Thread") {
    wanted.add({InsertAt::kEntry, Call::kSettle, 0, "start", "(", 0}, nullptr);
  }
  return wanted;
}

// --- bytes -----------------------------------------------------------------------------------------------------------

bool hand_over(const std::vector<uint8_t>& bytes, jint* new_length, unsigned char** new_bytes) {
  unsigned char* copy = nullptr;
  if (agent().jvmti->Allocate(static_cast<jlong>(bytes.size()), &copy) != JVMTI_ERROR_NONE) return false;
  std::memcpy(copy, bytes.data(), bytes.size());
  *new_length = static_cast<jint>(bytes.size());
  *new_bytes = copy;
  return true;
}

void count_new_places(const Wanted& wanted, const Insertion& insertion) {
  std::vector<Point*> changed;
  for (size_t i = 0; i < wanted.points.size(); ++i) {
    Point* const point = wanted.points[i];
    if (point == nullptr) continue;
    if (insertion.places[i] == 0) {
      if (point->places.load() == 0) say_near(*point, "refused", {});
      continue;
    }
    point->places.fetch_add(insertion.places[i]);
    if (std::ranges::find(changed, point) == changed.end()) changed.push_back(point);
  }
  for (const Point* point : changed) note_point(*point);
}

// Code of another class may have been inlined into it. Whatever else holds these letters is taken apart for nothing.
bool has_source_map(std::span<const uint8_t> bytes) {
  constexpr std::string_view kBegin = "SMAP\n";
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(kBegin) !=
         std::string_view::npos;
}

// Nothing goes into most classes, and a program loads thousands.
bool is_left_alone(std::string_view internal_name, std::span<const uint8_t> file, bool may_have_lines) {
  const bool is_asked_for = may_have_lines || causal_spec().suggest || internal_name == "java/lang/Thread" ||
                            may_have_sections(internal_name) || is_named_by_a_point(internal_name, {});
  return !is_asked_for && !releases_locks(file);
}

bool connect_api(std::span<const uint8_t> bytes, jint* new_length, unsigned char** new_bytes) {
  const Patch patch = redirect_calls(bytes, kApiSites, point_class_name());
  if (patch.outcome != PatchOutcome::kPatched || !hand_over(patch.bytes, new_length, new_bytes)) return false;
  const std::lock_guard locked(points().mutex);
  points().changed.insert(kApiClass);
  return true;
}

}  // namespace

bool is_off_limits(std::string_view name) noexcept {
  constexpr std::string_view kUntouched[] = {"java/util/concurrent/locks/LockSupport",
                                             "java/util/concurrent/locks/AbstractOwnableSynchronizer",
                                             "java/lang/VirtualThread", "jdk/internal/misc/Unsafe"};
  return name.starts_with("java/lang/HeadwayPoint") || name.starts_with("jdk/internal/misc/HeadwayHook") ||
         std::ranges::find(kUntouched, name) != std::end(kUntouched);
}

bool concerns_class(std::string_view internal_name, std::string_view source_file) noexcept {
  if (is_off_limits(internal_name)) return false;
  if (internal_name == kApiClass) return true;
  if (points().settles && internal_name == "java/lang/Thread") return true;
  if (may_have_sections(internal_name)) return true;
  const std::string class_name = dotted(internal_name);
  if ((points().settles || causal_spec().suggest) && in_scope(causal_spec().scope, class_name)) return true;
  const uint32_t count = points().count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const Point& point = *points().all[i];
    if (!point.is_asked_for()) continue;
    if (may_be_in(point.place, class_name) || is_source_of(point.place, class_name, source_file)) return true;
  }
  return false;
}

namespace {

// True: the class has got new bytes.
bool insert_points(jobject, const char* name, jclass redefined, jint length, const unsigned char* bytes,
                   jint* new_length, unsigned char** new_bytes) noexcept {
  Points& self = points();
  if (!self.is_armed.load(std::memory_order_acquire) || name == nullptr || length <= 0) return false;
  const std::string_view internal_name(name);
  const std::span<const uint8_t> file(bytes, static_cast<size_t>(length));
  const bool may_have_lines = (self.has_files || (self.has_lines && has_source_map(file))) &&
                              !internal_name.starts_with("java/") && !is_off_limits(internal_name);
  if (!may_have_lines && !concerns_class(internal_name, {})) return false;
  if (internal_name == kApiClass) return connect_api(file, new_length, new_bytes);
  if (is_left_alone(internal_name, file, may_have_lines)) return false;
  const ClassFacts facts = class_facts(file);
  if (!facts.ok) return false;
  bool is_new = false;
  {
    const std::lock_guard locked(self.mutex);
    is_new = self.seen.insert(std::string(internal_name)).second;
  }
  const Wanted wanted = what_goes_into(facts, dotted(internal_name), is_new);
  if (wanted.inserts.empty()) {
    note_sections(internal_name, file);
    return false;
  }
  const Insertion insertion = insert_calls(file, wanted.inserts, point_class_name());
  // A class that is retransformed for somebody else keeps the places that it has.
  if (redefined == nullptr || arming_points) count_new_places(wanted, insertion);
  const bool is_changed =
      insertion.outcome == InsertOutcome::kInserted && hand_over(insertion.bytes, new_length, new_bytes);
  note_sections(internal_name, is_changed ? std::span<const uint8_t>(insertion.bytes) : file);
  if (!is_changed) return false;
  const std::lock_guard locked(self.mutex);
  self.changed.insert(std::string(internal_name));
  return true;
}

bool wants_class_files() noexcept { return points().is_armed.load(std::memory_order_acquire); }

constexpr ClassFileListener kListener{wants_class_files, insert_points};

}  // namespace

const ClassFileListener& class_file_listener() noexcept { return kListener; }

}  // namespace headway::agent::causal
