#include "jfr/layout.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headway::jfr {
namespace {

constexpr int kDeepest = 16;
constexpr size_t kMostSteps = 1 << 16;  // of all types of a chunk; those of JDK 25 have about 2,000
constexpr size_t kMostNameBytes = 16 << 20;

struct Primitive {
  std::string_view name;
  Op op;
  uint8_t bytes;
  bool is_unsigned;
};
constexpr std::array<Primitive, 9> kPrimitives{{
    {"boolean", Op::boolean, 1, false},
    {"byte", Op::byte, 1, false},
    {"char", Op::integer, 2, true},
    {"short", Op::integer, 2, false},
    {"int", Op::integer, 4, false},
    {"long", Op::integer, 8, false},
    {"float", Op::real4, 4, false},
    {"double", Op::real8, 8, false},
    {"java.lang.String", Op::text, 0, false},
}};

const Primitive* primitive(std::string_view name) {
  for (const Primitive& each : kPrimitives) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

bool is_integer(const Step& step) { return step.op == Op::integer || step.op == Op::constant; }

}  // namespace

const Steps* Layouts::of(int64_t type) {
  const Type* known = types_.find(type);
  if (known == nullptr) return nullptr;  // there may be any number of such
  const auto [found, is_new] = known_.try_emplace(type);
  if (!is_new) return found->second.get();
  auto steps = std::make_unique<Steps>();
  if (!append_type(*known, "", 0, steps.get()) || steps->empty()) return nullptr;
  return (known_[type] = std::move(steps)).get();
}

bool Layouts::has_room(size_t name_bytes) {
  name_bytes_ += name_bytes;
  const bool has = steps_ <= kMostSteps && name_bytes_ <= kMostNameBytes && budget_.take(name_bytes);
  is_full_ |= !has;
  return has;
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by kDeepest
bool Layouts::append_type(const Type& type, const std::string& prefix, int depth, Steps* out) {
  ++steps_;
  if (depth > kDeepest || !has_room(0)) return false;
  if (const Primitive* known = primitive(type.name); known != nullptr) {
    Step step;
    step.op = known->op;
    step.bytes = known->bytes;
    step.is_unsigned = known->is_unsigned;
    step.name = prefix;
    out->push_back(std::move(step));
    return true;
  }
  for (const Field& field : type.fields) {
    if (!append(field, prefix.empty() ? field.name : prefix + "." + field.name, depth, out)) return false;
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by kDeepest
bool Layouts::append(const Field& field, const std::string& name, int depth, Steps* out) {
  if (!has_room(name.size() + field.name.size())) return false;
  if (field.array) {
    Field element = field;
    element.array = false;
    Steps each;
    if (!append(element, "", depth + 1, &each) || each.empty()) return false;
    Step step;
    step.op = Op::array;
    step.type = field.type;
    step.integers = std::all_of(each.begin(), each.end(), is_integer) ? each.size() : 0;
    step.each = &arrays_.emplace_back(std::move(each));
    step.name = name;
    out->push_back(std::move(step));
    return true;
  }
  const Type* type = types_.find(field.type);
  if (type == nullptr) return false;
  if (field.constant) {
    ++steps_;
    if (!has_room(0)) return false;
    Step step;
    step.op = Op::constant;
    step.bytes = 8;
    step.type = field.type;
    step.name = name;
    out->push_back(std::move(step));
    return true;
  }
  const size_t first = out->size();
  if (!append_type(*type, name, depth + 1, out)) return false;
  if (out->size() == first + 1 && primitive(type->name) != nullptr) {
    out->back().unit = field.unit;
    out->back().is_unsigned |= field.is_unsigned;
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the layout is
void skip(const Step& step, Cursor* in) {
  switch (step.op) {
    case Op::byte:
    case Op::boolean:
      in->skip(1);
      return;
    case Op::integer:
    case Op::constant:
      in->integer(step.bytes);
      return;
    case Op::real4:
      in->skip(4);
      return;
    case Op::real8:
      in->skip(8);
      return;
    case Op::text:
      in->skip_text();
      return;
    case Op::array: {
      const size_t n = in->count();
      if (in->compressed() && step.integers > 0) {
        in->skip_varints(n * step.integers);
        return;
      }
      for (size_t i = 0; i < n && in->ok(); ++i) skip(*step.each, in);
      return;
    }
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the layout is
void skip(const Steps& steps, Cursor* in) {
  for (const Step& step : steps) {
    skip(step, in);
    if (!in->ok()) return;
  }
}

}  // namespace headway::jfr
