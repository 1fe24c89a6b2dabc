#include "agent/causal/common/point_match.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/classfile/source_map.h"

namespace headway::agent::causal {
namespace {

constexpr uint16_t kBridge = 0x0040;
constexpr uint16_t kSynthetic = 0x1000;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein's distance, whatever the case of letters. Up to 120 characters of each.
size_t distance(std::string_view one, std::string_view other) {
  constexpr size_t kMost = 120;
  one = one.substr(0, kMost);
  other = other.substr(0, kMost);
  std::array<size_t, kMost + 1> row{};
  for (size_t j = 0; j <= other.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= other.size(); ++j) {
      const size_t changed = diagonal + (lower(one[i - 1]) == lower(other[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[other.size()];
}

std::string_view simple_name(std::string_view name) {
  const size_t at = name.find_last_of(".$");
  return at == std::string_view::npos || at + 1 == name.size() ? name : name.substr(at + 1);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Takes one type off the front of a descriptor and writes it as in Java; false: there is none.
bool take_type(std::string_view& descriptor, std::string& out) {
  size_t dimensions = 0;
  while (dimensions < descriptor.size() && descriptor[dimensions] == '[') ++dimensions;
  descriptor.remove_prefix(dimensions);
  if (descriptor.empty()) return false;
  constexpr std::array<std::pair<char, std::string_view>, 8> kPrimitives{{{'B', "byte"},
                                                                          {'C', "char"},
                                                                          {'D', "double"},
                                                                          {'F', "float"},
                                                                          {'I', "int"},
                                                                          {'J', "long"},
                                                                          {'S', "short"},
                                                                          {'Z', "boolean"}}};
  size_t length = 1;
  if (descriptor.front() == 'L') {
    length = descriptor.find(';');
    if (length == std::string_view::npos) return false;
    out += dotted(descriptor.substr(1, length++ - 1));
  } else {
    const auto is_it = [&](const auto& primitive) { return primitive.first == descriptor.front(); };
    const auto found = std::ranges::find_if(kPrimitives, is_it);
    if (found == kPrimitives.end()) return false;
    out += found->second;
  }
  descriptor.remove_prefix(length);
  for (; dimensions > 0; --dimensions) out += "[]";
  return true;
}

// Takes what stands before the first comma off the front.
std::string_view take_part(std::string_view& list) {
  const std::string_view part = list.substr(0, list.find(','));
  list.remove_prefix(std::min(part.size() + 1, list.size()));
  return trim(part);
}

bool same_parameters(std::string_view asked, std::string_view found) {
  if (std::ranges::count(asked, ',') != std::ranges::count(found, ',') || trim(asked).empty() != found.empty()) {
    return false;
  }
  while (!found.empty()) {
    const std::string_view want = take_part(asked);
    const std::string_view is = take_part(found);
    if (want != is && want != simple_name(is)) return false;
  }
  return true;
}

bool begins_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::string dotted(std::string_view internal_name) {
  std::string name(internal_name);
  std::ranges::replace(name, '/', '.');
  return name;
}

bool means_class(std::string_view asked, std::string_view name) noexcept {
  return asked.size() == name.size() &&
         std::ranges::equal(asked, name, [](char want, char is) { return want == is || (want == '.' && is == '$'); });
}

bool names_source_file(const Place& place) noexcept {
  constexpr std::array<std::string_view, 6> kEndings{".kt", ".java", ".scala", ".groovy", ".clj", ".kts"};
  return place.line != 0 && std::ranges::any_of(kEndings, [&](std::string_view ending) {
           return place.class_name.size() > ending.size() && place.class_name.ends_with(ending);
         });
}

bool may_be_in(const Place& place, std::string_view class_name) noexcept {
  const std::string_view asked = place.class_name;
  if (class_name.size() < asked.size() || !means_class(asked, class_name.substr(0, asked.size()))) return false;
  const std::string_view rest = class_name.substr(asked.size());
  if (place.line != 0) return rest.empty() || rest.front() == '$';
  return rest.empty() || rest == "$" || rest == "$Companion";
}

bool is_source_of(const Place& place, std::string_view class_name, std::string_view source_file) noexcept {
  if (!names_source_file(place) || source_file.empty()) return false;
  const std::string_view asked = place.class_name;
  const size_t slash = asked.rfind('/');
  if (slash == std::string_view::npos) return asked == source_file;
  const size_t dot = class_name.rfind('.');
  const std::string package = dotted(asked.substr(0, slash));
  return asked.substr(slash + 1) == source_file && dot != std::string_view::npos &&
         class_name.substr(0, dot) == package;
}

std::string java_parameters(std::string_view descriptor) {
  std::string found;
  if (!descriptor.empty()) descriptor.remove_prefix(1);
  while (!descriptor.empty() && descriptor.front() != ')') {
    if (!found.empty()) found += ',';
    if (!take_type(descriptor, found)) break;
  }
  return found;
}

bool means_descriptor(std::string_view asked, std::string_view descriptor) noexcept {
  if (asked.empty() || descriptor.starts_with(asked)) return true;
  if (asked.front() != '(' || asked.back() != ')') return false;
  return same_parameters(asked.substr(1, asked.size() - 2), java_parameters(descriptor));
}

Choice choose_methods(const ClassFacts& facts, const Place& place) {
  Choice choice;
  std::vector<const MethodFacts*> bridges;
  for (const MethodFacts& method : facts.methods) {
    if (method.name != place.method || method.code_bytes == 0 || !means_descriptor(place.descriptor, method.descriptor))
      continue;
    if (place.descriptor.empty() && !method.forwards.empty()) continue;
    (place.descriptor.empty() && (method.access & kBridge) != 0 ? bridges : choice.methods).push_back(&method);
  }
  if (choice.methods.empty()) choice.methods = bridges;
  choice.is_ambiguous = place.descriptor.empty() && choice.methods.size() > 1;
  return choice;
}

std::vector<uint16_t> numbers_of_line(const ClassFacts& facts, std::string_view class_name, const Place& place) {
  const auto is_meant = [&place](std::string_view name, std::string_view file) {
    return may_be_in(place, name) || is_source_of(place, name, file);
  };
  const bool is_own = is_meant(class_name, facts.source_file);
  const SourceMap map(facts.source_map);
  std::vector<uint16_t> numbers;
  for (const MethodFacts& method : facts.methods) {
    for (const uint16_t number : method.lines) {
      const auto origin = map.origin(number);
      const bool is_it = origin ? origin->line == place.line && is_meant(dotted(origin->class_name), origin->file)
                                : number == place.line && is_own;
      if (is_it) numbers.push_back(number);
    }
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

bool has_line_numbers(const ClassFacts& facts) noexcept {
  return std::ranges::any_of(facts.methods, [](const MethodFacts& method) { return !method.lines.empty(); });
}

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  for (const std::string& name : names) {
    // What is in another package under the same name is nearer than what differs by a few letters in the same one.
    const size_t whole = distance(wanted, name);
    const size_t simple = 2 * distance(simple_name(wanted), simple_name(name)) + 1;
    ranked.emplace_back(std::min(whole, simple), name);
  }
  std::ranges::sort(ranked);
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> found;
  for (const auto& [far, name] : ranked) {
    if (found.size() == kMostNear || far > wanted.size()) break;
    found.emplace_back(name);
  }
  return found;
}

std::vector<int32_t> nearest_lines(const ClassFacts& facts, int32_t line) {
  std::vector<int32_t> lines;
  for (const MethodFacts& method : facts.methods) lines.insert(lines.end(), method.lines.begin(), method.lines.end());
  const auto far = [line](int32_t other) { return std::pair(other > line ? other - line : line - other, other); };
  std::ranges::sort(lines, {}, far);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  if (lines.size() > kMostNear) lines.resize(kMostNear);
  std::ranges::sort(lines);
  return lines;
}

bool looks_like_work(const ClassFacts& facts, const MethodFacts& method) noexcept {
  constexpr std::array<std::string_view, 33> kWork{
      "run",     "call",   "handle",   "process", "execute", "serve",  "do",     "on",    "accept",
      "invoke",  "submit", "dispatch", "commit",  "consume", "poll",   "work",   "apply", "perform",
      "request", "send",   "receive",  "query",   "update",  "insert", "render", "parse", "compute",
      "add",     "index",  "search",   "write",   "store",   "save"};
  constexpr std::array<std::string_view, 8> kNoWork{"<", "get", "set", "is", "has", "toString", "equals", "hashCode"};
  constexpr uint32_t kSomeBytes = 40;
  if (method.code_bytes == 0 || !method.forwards.empty() || begins_with_any(method.name, kNoWork)) return false;
  const bool is_lambda =
      method.name.find("lambda$") != std::string_view::npos || method.name.find("$anonfun$") != std::string_view::npos;
  if ((method.access & (kBridge | kSynthetic)) != 0 && !is_lambda) return false;
  constexpr std::array<std::string_view, 5> kTasks{"java/lang/Runnable", "java/util/concurrent/Callable",
                                                   "java/util/function/Supplier", "java/util/function/Consumer",
                                                   "java/util/function/Function"};
  const bool is_task = std::ranges::any_of(
      facts.interfaces, [&](std::string_view type) { return std::ranges::find(kTasks, type) != kTasks.end(); });
  return is_lambda || is_task || method.has_loop || method.code_bytes >= kSomeBytes ||
         begins_with_any(method.name, kWork);
}

}  // namespace headway::agent::causal
