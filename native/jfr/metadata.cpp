#include "jfr/metadata.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace headway::jfr {
namespace {

constexpr int kDeepest = 32;  // root > metadata > class > field > annotation is 5
// That of JDK 25 has 12,000 elements, 40,000 attributes and 100 KB of names. A few bytes make each, and one text can be
// the name of any number of them.
constexpr size_t kMostStrings = 1 << 20, kMostElements = 1 << 20, kMostAttributes = 1 << 22;
constexpr size_t kLongestName = 65535;  // of a class, for a JVM
constexpr size_t kMostNameBytes = 16 << 20;

struct Element {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  std::vector<Element> children;

  std::string_view get(std::string_view key) const {
    for (const auto& [k, v] : attributes) {
      if (k == key) return v;
    }
    return {};
  }
};

int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Parser {
 public:
  explicit Parser(Cursor in) : in_(in) {}

  bool parse(Element* root, int64_t* id) {
    in_.integer(8);  // start
    in_.integer(8);  // duration
    *id = static_cast<int64_t>(in_.integer(8));
    const size_t n = in_.count();
    if (n > kMostStrings) return false;
    strings_.resize(n);
    Text text;
    for (std::string& each : strings_) {
      in_.text(&text);
      each = text.value;
      if (!in_.ok()) return false;
    }
    return element(root, 0) && in_.ok();
  }

 private:
  std::string_view string() {
    const uint64_t index = in_.integer(4);
    if (index < strings_.size()) return strings_[index];
    in_.fail();
    return {};
  }

  // NOLINTNEXTLINE(misc-no-recursion): bounded by kDeepest
  bool element(Element* out, int depth) {
    if (depth > kDeepest || ++elements_ > kMostElements) return false;
    out->name = string();
    const size_t attributes = in_.count();
    if (attributes > kMostAttributes - attributes_) return false;
    attributes_ += attributes;
    for (size_t i = 0; i < attributes && in_.ok(); ++i) {
      const std::string_view key = string();
      out->attributes.emplace_back(key, string());
    }
    const size_t children = in_.count();
    for (size_t i = 0; i < children && in_.ok(); ++i) {
      if (!element(&out->children.emplace_back(), depth + 1)) return false;
    }
    return in_.ok();
  }

  Cursor in_;
  std::vector<std::string> strings_;
  size_t elements_ = 0, attributes_ = 0;
};

Unit unit_of(std::string_view annotation, std::string_view value) {
  if (annotation == "jdk.jfr.Timestamp") {
    if (value == "TICKS") return Unit::tick_time;
    if (value == "NANOSECONDS_SINCE_EPOCH") return Unit::ns_time;
    if (value == "MILLISECONDS_SINCE_EPOCH") return Unit::ms_time;
  } else if (annotation == "jdk.jfr.Timespan") {
    if (value == "TICKS") return Unit::tick_span;
    if (value == "NANOSECONDS") return Unit::ns_span;
    if (value == "MICROSECONDS") return Unit::us_span;
    if (value == "MILLISECONDS") return Unit::ms_span;
    if (value == "SECONDS") return Unit::s_span;
  }
  return Unit::plain;
}

using Names = std::unordered_map<int64_t, std::string_view>;

Field field_of(const Element& element, const Names& names) {
  Field field;
  field.name = element.get("name");
  field.type = number(element.get("class"));
  field.constant = element.get("constantPool") == "true";
  field.array = number(element.get("dimension")) > 0;
  for (const Element& child : element.children) {
    const auto annotation = names.find(number(child.get("class")));
    if (child.name != "annotation" || annotation == names.end()) continue;
    if (annotation->second == "jdk.jfr.Unsigned") field.is_unsigned = true;
    const Unit unit = unit_of(annotation->second, child.get("value"));
    if (unit != Unit::plain) field.unit = unit;
  }
  return field;
}

// The name of a type as JDK 11 and later write it: JDK 9 and 10 have the same events under the names of Oracle's JDK.
std::string today(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kPrefixes{
      {{"com.oracle.jdk.", "jdk."}, {"com.oracle.jfr.types.", "jdk.types."}}};
  for (const auto& [before, now] : kPrefixes) {
    if (name.starts_with(before)) return std::string(now) + std::string(name.substr(before.size()));
  }
  return std::string(name);
}

}  // namespace

bool Metadata::parse(Cursor in) {
  Parser parser(in);
  Element root;
  if (!parser.parse(&root, &id_)) return false;
  types_.clear();
  size_t name_bytes = 0;
  const auto is_kept = [&](std::string_view name) {
    name_bytes += name.size();
    return name.size() <= kLongestName && name_bytes <= kMostNameBytes;
  };
  for (const Element& metadata : root.children) {
    if (metadata.name != "metadata") continue;
    Names names;
    for (const Element& type : metadata.children) names.emplace(number(type.get("id")), type.get("name"));
    for (const Element& element : metadata.children) {
      if (element.name != "class") continue;
      if (!is_kept(element.get("name"))) return false;
      Type type{number(element.get("id")), today(element.get("name")), {}};
      for (const Element& child : element.children) {
        if (child.name != "field") continue;
        if (!is_kept(child.get("name"))) return false;
        type.fields.push_back(field_of(child, names));
      }
      const int64_t id = type.id;
      types_.insert_or_assign(id, std::move(type));
    }
  }
  return !types_.empty();
}

const Type* Metadata::find(std::string_view name) const {
  for (const auto& [id, type] : types_) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

}  // namespace headway::jfr
