#include "agent/causal/sampling/lines.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/causal/common/method_table.h"
#include "agent/causal/common/options.h"
#include "agent/causal/common/point_match.h"
#include "agent/classfile/source_map.h"
#include "agent/core/scope.h"
#include "agent/core/spin.h"
#include "agent/core/text.h"
#include "agent/state/state.h"

namespace headway::agent::causal {

struct KnownClass;

// Of one name: all overloads.
struct KnownName {
  const KnownClass* owner;
  std::string name;
  uint32_t id;
};

struct KnownLine {
  const KnownClass* owner;
  std::atomic<const KnownName*> method;  // the first that was seen to have it
  int32_t number;
  std::atomic<uint32_t> id{0};  // given when it is first sampled or asked for
};

struct NumberedLine {
  int32_t number;
  KnownLine* line;
};

// Thousands of classes are noted while a program starts, with tens of lines each: no tree of them.
struct KnownClass {
  std::string name;
  std::string file;
  bool is_loaded = false;           // not only named by others' source maps
  std::vector<NumberedLine> lines;  // sorted; methods mostly come in the order of their lines
  std::map<std::string_view, KnownName*> methods;
};

// A stretch of bytecode that belongs to a line.
struct Stretch {
  jint start;
  KnownLine* line;
};

struct KnownMethod {
  const KnownName* name;
  uint32_t count;
  const Stretch* stretches;  // sorted by start
};

namespace {

constexpr char kInlined[] = "<inlined>";  // the method of lines that were only seen inlined: source maps don't tell it

struct Lines {
  std::mutex mutex;  // guards all but what handlers read; never held across a call into the JVM
  std::map<std::string, KnownClass*, std::less<>> classes;
  std::multimap<std::string, const KnownClass*, std::less<>> by_dotted_name;  // "com.acme.Outer.Inner"
  uint32_t last_method = 0;
  MethodTable<KnownMethod> methods;
  std::atomic<uint32_t> next_line{kFirstLine};
  std::atomic<uint32_t> class_count{0};
  std::array<std::atomic<KnownLine*>, kMostLines> by_id{};
};
Lines& lines() {
  static Lines* const instance = new Lines;
  return *instance;
}
// What handlers reach it by: the function above may be about to make it.
std::atomic<Lines*> published{nullptr};

// [signal] 0: there are too many lines.
uint32_t id_of(Lines& all, KnownLine& line) noexcept {
  if (const uint32_t known = line.id.load(std::memory_order_acquire)) return known;
  const uint32_t fresh = all.next_line.fetch_add(1, std::memory_order_relaxed);
  if (fresh >= kMostLines) {
    all.next_line.store(kMostLines, std::memory_order_relaxed);
    return kNoLine;
  }
  uint32_t before = 0;
  // Two threads at once: the number of the second one stays unused.
  if (!line.id.compare_exchange_strong(before, fresh, std::memory_order_acq_rel)) return before;
  all.by_id[fresh].store(&line, std::memory_order_release);
  return fresh;
}

// --- one class -------------------------------------------------------------------------------------------------------

// What JVMTI says about a method, copied before any lock is taken.
struct MethodLines {
  jmethodID id;
  std::string name;
  std::vector<jvmtiLineNumberEntry> lines;
};

std::string utf8(const char* text) {
  std::string out(std::string_view(text).size() * 3 / 2 + 4, '\0');
  out.resize(to_utf8(text, out.data(), out.size()));
  return out;
}

void free_jvmti(jvmtiEnv* jvmti, void* memory) {
  if (memory != nullptr) jvmti->Deallocate(static_cast<unsigned char*>(memory));
}

MethodLines facts_of(jvmtiEnv* jvmti, jmethodID method) {
  MethodLines facts{method, {}, {}};
  char* name = nullptr;
  if (jvmti->GetMethodName(method, &name, nullptr, nullptr) == JVMTI_ERROR_NONE) facts.name = utf8(name);
  free_jvmti(jvmti, name);
  jint count = 0;
  jvmtiLineNumberEntry* entries = nullptr;
  if (jvmti->GetLineNumberTable(method, &count, &entries) == JVMTI_ERROR_NONE) {
    facts.lines.assign(entries, entries + count);
    free_jvmti(jvmti, entries);
  }
  const auto by_address = [](const auto& a, const auto& b) { return a.start_location < b.start_location; };
  if (!std::ranges::is_sorted(facts.lines, by_address)) std::ranges::stable_sort(facts.lines, by_address);
  return facts;
}

KnownName* name_of(Lines& all, KnownClass& owner, const std::string& name) {
  if (const auto known = owner.methods.find(name); known != owner.methods.end()) return known->second;
  if (all.last_method < kMostMethods) ++all.last_method;
  auto* const fresh = new KnownName{&owner, name, all.last_method};
  owner.methods.emplace(fresh->name, fresh);
  return fresh;
}

KnownLine* line_of(KnownClass& owner, const KnownName* method, int32_t number) {
  // Without numbers each method is a line of its own; their keys are below all numbers.
  const int32_t key = number > 0 ? number : -static_cast<int32_t>(method->id);
  const bool is_last = owner.lines.empty() || owner.lines.back().number < key;
  auto at = is_last ? owner.lines.end() : std::ranges::lower_bound(owner.lines, key, {}, &NumberedLine::number);
  if (at == owner.lines.end() || at->number != key) {
    at = owner.lines.insert(at, {key, new KnownLine{&owner, method, std::max(number, 0)}});
  }
  return at->line;
}

// Whether a '$' parts a nested class from the one around it, or is part of a name, only that name's class knows.
std::string with_dots(std::string_view name) {
  std::string dots(name);
  std::ranges::replace(dots, '$', '.');
  return dots;
}

KnownClass& class_of(Lines& all, const std::string& name, std::string_view file) {
  KnownClass*& known = all.classes[name];
  if (known == nullptr) {
    known = new KnownClass{name, std::string(file), false, {}, {}};
    all.by_dotted_name.emplace(with_dots(name), known);
  }
  return *known;
}

// The line that is meant by a number of a class's line table. What was inlined from a class in scope belongs to the
// line where it was written, whoever runs it; what was inlined from elsewhere to the line that calls it, as any call
// would.
KnownLine* line_meant(Lines& all, KnownClass& owner, KnownName* method, const SourceMap& map, int32_t number) {
  const std::optional<SourceOrigin> origin = map.origin(number);
  if (!origin) return line_of(owner, method, number);
  const std::string name = dotted(origin->class_name);
  if (name != owner.name && !in_scope(causal_spec().scope, name)) {
    const int32_t call_site = map.call_site(number);
    return line_of(owner, method, call_site > 0 ? call_site : number);
  }
  if (map.call_site(number) <= 0) return line_of(owner, method, origin->line);
  KnownClass& written = name == owner.name ? owner : class_of(all, name, origin->file);
  return line_of(written, name_of(all, written, kInlined), origin->line);
}

void add_method(Lines& all, KnownClass& owner, const SourceMap& map, const MethodLines& facts) {
  KnownName* const name = name_of(all, owner, facts.name);
  std::vector<Stretch> stretches;
  for (const jvmtiLineNumberEntry& entry : facts.lines) {
    KnownLine* const line = line_meant(all, owner, name, map, entry.line_number);
    // The method itself knows its lines better than who has them inlined.
    if (line->owner == &owner && line->method.load()->name == kInlined && map.call_site(entry.line_number) <= 0) {
      line->method.store(name);
    }
    stretches.push_back({static_cast<jint>(entry.start_location), line});
  }
  if (stretches.empty()) stretches.push_back({0, line_of(owner, name, 0)});
  auto* const copy = new Stretch[stretches.size()];
  std::copy(stretches.begin(), stretches.end(), copy);
  auto* const method = new KnownMethod{name, static_cast<uint32_t>(stretches.size()), copy};
  if (all.methods.put(reinterpret_cast<uintptr_t>(facts.id), method)) return;
  delete method;
  delete[] copy;
}

// Those that a progress point at the same place would be in.
std::vector<const KnownClass*> classes_meant(const Lines& all, const Place& place) {
  std::vector<const KnownClass*> found;
  const std::string asked = with_dots(place.class_name);
  for (auto at = all.by_dotted_name.lower_bound(asked); at != all.by_dotted_name.end(); ++at) {
    if (!at->first.starts_with(asked)) break;
    if (may_be_in(place, at->second->name)) found.push_back(at->second);
  }
  if (!names_source_file(place)) return found;
  for (const auto& [name, known] : all.classes) {
    if (is_source_of(place, name, known->file)) found.push_back(known);
  }
  return found;
}

// Classes that the JVM or a library makes at run time and that stand between a line and its lambda, or a proxy and what
// it calls: who calls them is charged.
bool is_made_up(std::string_view name) {
  return name.find("$$Lambda") != std::string_view::npos || name.find(".0x") != std::string_view::npos ||
         name.find("/0x") != std::string_view::npos || name.find("$Proxy") != std::string_view::npos;
}

}  // namespace

FramePlace place_of(jmethodID method, jint bci) noexcept {
  Lines* const all = published.load(std::memory_order_acquire);
  if (all == nullptr || method == nullptr) return {};
  const KnownMethod* const known = all->methods.find(reinterpret_cast<uintptr_t>(method));
  if (known == nullptr) return {};
  const Stretch* const end = known->stretches + known->count;
  const Stretch* at = std::upper_bound(known->stretches, end, bci,
                                       [](jint wanted, const Stretch& stretch) { return wanted < stretch.start; });
  if (at != known->stretches) --at;
  return {id_of(*all, *at->line), known->name->id};
}

uint32_t method_of(jmethodID method) noexcept {
  Lines* const all = published.load(std::memory_order_acquire);
  if (all == nullptr || method == nullptr) return 0;
  const KnownMethod* const known = all->methods.find(reinterpret_cast<uintptr_t>(method));
  return known == nullptr ? 0 : known->name->id;
}

void note_class_lines(jvmtiEnv* jvmti, jclass type, std::string_view name) noexcept {
  if (is_made_up(name) || !in_scope(causal_spec().scope, name)) return;
  jint count = 0;
  jmethodID* methods = nullptr;
  // This makes the jmethodIDs, without which AsyncGetCallTrace leaves a frame's method out.
  if (jvmti->GetClassMethods(type, &count, &methods) != JVMTI_ERROR_NONE) return;
  std::vector<MethodLines> facts;
  facts.reserve(static_cast<size_t>(std::max<jint>(count, 0)));
  for (jint i = 0; i < count; ++i) facts.push_back(facts_of(jvmti, methods[i]));
  free_jvmti(jvmti, methods);
  char* extension = nullptr;
  const bool has_map = agent().jvmti->GetSourceDebugExtension(type, &extension) == JVMTI_ERROR_NONE;
  const std::string map_text = has_map ? utf8(extension) : std::string();
  free_jvmti(jvmti, extension);
  const SourceMap map(map_text);
  char* file = nullptr;
  const bool has_file = jvmti->GetSourceFileName(type, &file) == JVMTI_ERROR_NONE;
  Lines& all = lines();
  {
    const std::lock_guard<std::mutex> guard(all.mutex);
    KnownClass& known = class_of(all, std::string(name), has_file ? utf8(file) : std::string());
    if (!known.is_loaded) all.class_count.fetch_add(1, std::memory_order_relaxed);
    known.is_loaded = true;
    for (const MethodLines& method : facts) add_method(all, known, map, method);
  }
  free_jvmti(jvmti, file);
  published.store(&all, std::memory_order_release);
}

void note_loaded_classes(jvmtiEnv* jvmti, JNIEnv* jni) noexcept {
  jint count = 0;
  jclass* classes = nullptr;
  if (jvmti->GetLoadedClasses(&count, &classes) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count; ++i) {
    char* signature = nullptr;
    if (jvmti->GetClassSignature(classes[i], &signature, nullptr) == JVMTI_ERROR_NONE && signature[0] == 'L') {
      std::string name(signature + 1);
      if (!name.empty()) name.pop_back();
      std::replace(name.begin(), name.end(), '/', '.');
      note_class_lines(jvmti, classes[i], name);
    }
    free_jvmti(jvmti, signature);
    jni->DeleteLocalRef(classes[i]);
  }
  free_jvmti(jvmti, classes);
}

std::vector<MethodName> method_names() noexcept {
  Lines& all = lines();
  const std::lock_guard<std::mutex> guard(all.mutex);
  std::vector<MethodName> names;
  for (const auto& [name, known] : all.classes) {
    for (const auto& [method, facts] : known->methods) names.push_back({facts->id, name, std::string(method)});
  }
  return names;
}

uint32_t classes_in_scope() noexcept { return lines().class_count.load(std::memory_order_relaxed); }

uint32_t line_limit() noexcept { return std::min(lines().next_line.load(std::memory_order_acquire), kMostLines); }

bool line_facts(uint32_t line, LineFacts& facts) noexcept {
  if (line < kFirstLine || line >= kMostLines) return false;
  const KnownLine* const known = lines().by_id[line].load(std::memory_order_acquire);
  if (known == nullptr) return false;
  const KnownName* const method = known->method.load(std::memory_order_acquire);
  facts = {known->owner->name, method->name, known->owner->file, known->number, method->id};
  return true;
}

std::vector<uint32_t> find_lines(const Place& place) noexcept {
  Lines& all = lines();
  const std::lock_guard<std::mutex> guard(all.mutex);
  std::vector<uint32_t> found;
  for (const KnownClass* owner : classes_meant(all, place)) {
    const auto line = std::ranges::lower_bound(owner->lines, place.line, {}, &NumberedLine::number);
    const bool is_there = line != owner->lines.end() && line->number == place.line;
    if (place.line > 0 && is_there) found.push_back(id_of(all, *line->line));
  }
  std::erase(found, kNoLine);
  return found;
}

std::vector<uint32_t> find_methods(const Place& place) noexcept {
  Lines& all = lines();
  const std::lock_guard<std::mutex> guard(all.mutex);
  std::vector<uint32_t> found;
  for (const KnownClass* owner : classes_meant(all, place)) {
    const auto method = owner->methods.find(place.method);
    if (method != owner->methods.end()) found.push_back(method->second->id);
  }
  return found;
}

}  // namespace headway::agent::causal
