#include "jfr/resolved_constants.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace headway::jfr {
namespace {

constexpr size_t kDeepestStack = 4096;  // the JDK's own limit is 2048
constexpr int kMostSteps = 1024;        // of one text
constexpr int kDeepest = 4;
constexpr int64_t kNoType = -1;

void quote(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out->push_back('\\');
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      *out += escaped;
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

}  // namespace

std::string dotted(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

ResolvedConstants::ResolvedConstants(Constants* constants, InternedRows* interned)
    : constants_(*constants), interned_(*interned) {
  const auto id = [&](std::string_view name) {
    const Type* type = constants_.layouts().types().find(name);
    return type == nullptr ? kNoType : type->id;
  };
  string_type_ = id("java.lang.String");
  method_type_ = id("jdk.types.Method");
  kind_type_ = id("jdk.types.FrameType");
}

// --- single fields -------------------------------------------------------------------------------------------------

void ResolvedConstants::read(const Step& step, Cursor* in, Value* out) {
  out->op = step.op;
  out->type = step.type;
  switch (step.op) {
    case Op::integer:
      out->integer = signed_value(in->integer(step.bytes), step);
      return;
    case Op::constant:
      out->integer = static_cast<int64_t>(in->integer(8));
      return;
    case Op::byte:
    case Op::boolean:
      out->integer = in->byte();
      return;
    case Op::text:
      in->text(&out->text);
      return;
    default:
      skip(step, in);
  }
}

void ResolvedConstants::pick(const Constant& constant, int64_t type, std::initializer_list<Wanted> wanted) {
  const Steps* steps = constants_.layouts().of(type);
  if (steps == nullptr) return;
  Cursor in = constants_.cursor(constant);
  for (const Step& step : *steps) {
    const auto found = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.name == step.name; });
    if (found == wanted.end()) {
      skip(step, &in);
    } else {
      read(step, &in, found->into);
    }
    if (!in.ok()) return;
  }
}

std::string ResolvedConstants::text_of(const Value& value) {
  if (value.op != Op::constant && value.op != Op::text) return "";
  if (value.op == Op::text && value.text.form != Text::Form::constant) return interned_.budget().copy(value.text.value);
  const std::string* known =
      value.op == Op::constant ? text(value.type, static_cast<uint64_t>(value.integer)) : string(value.text.constant);
  return known == nullptr ? "" : interned_.budget().copy(*known);
}

int32_t ResolvedConstants::thread(int64_t type, Constant* constant) {
  if (constant == nullptr || constant->meaning == Constant::kNone) return -1;
  if (constant->meaning != Constant::kUnknown) return constant->meaning;
  Value os_name, os_tid, java_name, java_id, group, is_virtual, group_name;
  pick(*constant, type,
       {{"osName", &os_name},
        {"osThreadId", &os_tid},
        {"javaName", &java_name},
        {"javaThreadId", &java_id},
        {"group", &group},
        {"virtual", &is_virtual}});
  if (group.op == Op::constant) {
    const Constant* of = constants_.find(group.type, static_cast<uint64_t>(group.integer));
    if (of != nullptr) pick(*of, group.type, {{"name", &group_name}});
  }
  ThreadRow row{os_tid.integer,     java_id.integer,     text_of(os_name),
                text_of(java_name), text_of(group_name), is_virtual.integer != 0};
  const int32_t id = interned_.thread(std::move(row));
  constant->meaning = id < 0 ? Constant::kNone : id;
  return id;
}

// --- stacks --------------------------------------------------------------------------------------------------------

int32_t ResolvedConstants::stack(int64_t type, Constant* constant) {
  if (constant == nullptr || constant->meaning == Constant::kNone) return -1;
  if (constant->meaning != Constant::kUnknown) return constant->meaning;
  const Steps* steps = constants_.layouts().of(type);
  Cursor in = constants_.cursor(*constant);
  scratch_.clear();
  bool is_cut = false;
  for (const Step& step : *steps) {
    if (step.op == Op::array && step.name == "frames") {
      is_cut |= !frames(&in, step);
    } else if (step.name == "truncated") {
      is_cut |= in.byte() != 0;
    } else {
      skip(step, &in);
    }
  }
  if (scratch_.empty()) {
    constant->meaning = Constant::kNone;
    return -1;
  }
  return constant->meaning = interned_.stack(scratch_, is_cut);
}

void ResolvedConstants::learn(const Steps& frame) {
  frame_ = &frame;
  raw_frame_ids_ = {};  // the same bytes mean something else where frames are laid out otherwise
  methods_of_ = method_type_ == kNoType ? nullptr : constants_.pool(method_type_);
  kinds_of_ = kind_type_ == kNoType ? nullptr : constants_.pool(kind_type_);
  parts_.clear();
  for (const Step& step : frame) {
    const bool is_constant = step.op == Op::constant;
    Part part = is_constant || step.op == Op::integer ? Part::integer : Part::other;
    if (is_constant && step.type == method_type_) part = Part::method;
    if (is_constant && step.type == kind_type_) part = Part::kind;
    if (step.op == Op::integer && step.name == "lineNumber") part = Part::line;
    parts_.push_back(part);
  }
}

// Collects the frames; false where there are more of them than are kept. The same frame is in many stacks: its bytes
// tell it before they are taken apart.
bool ResolvedConstants::frames(Cursor* in, const Step& array) {
  if (frame_ != array.each) learn(*array.each);
  const size_t n = in->count(), kept = std::min(n, kDeepestStack);
  const size_t integers = in->compressed() ? array.integers : 0;
  scratch_.resize(kept);
  for (size_t i = 0; i < kept && in->ok(); ++i) {
    const uint8_t* start = in->at();
    FrameIds::Key bytes;
    if (integers > 0 && in->raw_varints(integers, &bytes)) {
      int32_t* id = raw_frame_ids_.of(bytes);
      if (*id < 0) {
        Cursor again(start, in->at(), true, in->readable());
        *id = next_frame(&again);
      }
      scratch_[i] = *id;
    } else {
      scratch_[i] = next_frame(in);
    }
    if (!in->ok()) scratch_.resize(i);
  }
  for (size_t i = kept; i < n && in->ok(); ++i) skip(*array.each, in);
  return n <= kDeepestStack;
}

int32_t ResolvedConstants::next_frame(Cursor* in) {
  uint64_t method = 0, kind = 0;
  int64_t line = 0;
  const Step* step = frame_->data();
  for (const Part part : parts_) {
    switch (part) {
      case Part::method:
        method = in->integer(8);
        break;
      case Part::kind:
        kind = in->integer(8);
        break;
      case Part::line:
        line = signed_value(in->integer(step->bytes), *step);
        break;
      case Part::integer:
        in->integer(step->bytes);
        break;
      case Part::other:
        skip(*step, in);
    }
    ++step;
  }
  return in->ok() ? frame(method, line, kind) : -1;
}

// The id among all chunks' texts; many frames share one class and one name.
uint32_t ResolvedConstants::universal(const Value& value) {
  if (value.op != Op::constant) return interned_.text(text_of(value));
  Constant* constant = constants_.find(value.type, static_cast<uint64_t>(value.integer));
  if (constant == nullptr) return 0;
  const Type* type = constants_.layouts().types().find(value.type);
  const bool has_other = type == nullptr || type->name == "java.lang.Thread" || type->name == "jdk.types.StackTrace" ||
                         type->name == "jdk.types.Method";
  if (has_other) return interned_.text(text_of(value));  // their meaning is another id
  if (constant->meaning == Constant::kUnknown) {
    constant->meaning = static_cast<int32_t>(interned_.text(text_of(value)));
  }
  return static_cast<uint32_t>(constant->meaning);
}

void FrameIds::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& each : old) {
    if (each.is_used) *find(each.key) = each;
  }
}

int32_t* FrameIds::add(const Key& key) {
  if ((used_ + 1) * 3 > slots_.size() * 2) grow();
  Slot* slot = find(key);
  *slot = {key, -1, true};
  ++used_;
  return &slot->id;
}

int32_t ResolvedConstants::frame(uint64_t method, int64_t line, uint64_t kind) {
  int32_t* id = frame_ids_.of({method, (static_cast<uint64_t>(line) << 16) ^ kind});
  if (*id >= 0) return *id;
  FrameRow row;
  std::tie(row.class_name, row.method) = names(methods_of_ == nullptr ? nullptr : methods_of_->find(method));
  row.line = line > 0 && line <= INT32_MAX ? static_cast<int32_t>(line) : 0;
  if (const Constant* known = kinds_of_ == nullptr ? nullptr : kinds_of_->find(kind);
      known != nullptr && known->meaning != Constant::kUnknown) {
    row.kind = static_cast<uint32_t>(known->meaning);
  } else {
    Value word;
    word.op = Op::constant;
    word.type = kind_type_;
    word.integer = static_cast<int64_t>(kind);
    row.kind = universal(word);
  }
  return *id = interned_.frame(row);
}

// A method's class and name among all chunks' texts: most methods have several frames, one for each line.
std::pair<uint32_t, uint32_t> ResolvedConstants::names(Constant* method) {
  if (method == nullptr) return {0, 0};
  if (method->meaning == Constant::kUnknown) {
    Value type, name;
    pick(*method, method_type_, {{"type", &type}, {"name", &name}});
    method->meaning = static_cast<int32_t>(methods_.size());
    methods_.emplace_back(universal(type), universal(name));
  }
  return methods_[static_cast<size_t>(method->meaning)];
}

// --- texts ---------------------------------------------------------------------------------------------------------

const std::string* ResolvedConstants::text(int64_t type, uint64_t index) {
  Constant* constant = constants_.find(type, index);
  if (constant == nullptr) return nullptr;
  if (constant->text != Constant::kUnknown) return &texts_[static_cast<size_t>(constant->text)];
  Budget budget{kMostSteps, 0};
  texts_.push_back(interned_.budget().copy(constant_text(type, index, &budget)));
  constant->text = static_cast<int32_t>(texts_.size()) - 1;
  return &texts_.back();
}

// NOLINTNEXTLINE(misc-no-recursion): the budget ends cycles
std::string ResolvedConstants::constant_text(int64_t type, uint64_t index, Budget* budget) {
  const Constant* constant = constants_.find(type, index);
  const Type* known = constants_.layouts().types().find(type);
  const Steps* steps = constants_.layouts().of(type);
  if (constant == nullptr || known == nullptr || steps == nullptr) return "";
  if (known->name == "jdk.types.StackTrace") return "";  // has columns of its own
  if (--budget->steps < 0 || budget->depth > kDeepest || !interned_.budget().may_read(steps->size())) return "...";
  ++budget->depth;
  std::string out;
  const auto named = [&](std::string_view name) {
    Value value;
    pick(*constant, type, {{name, &value}});
    if (value.op != Op::constant) return text_of(value);
    return constant_text(value.type, static_cast<uint64_t>(value.integer), budget);
  };
  if (known->name == "java.lang.Class") {
    out = dotted(named("name"));
  } else if (known->name == "jdk.types.Method") {
    out = named("type") + "." + named("name");
  } else if (known->name == "java.lang.Thread") {
    out = named("javaName");
    if (out.empty()) out = named("osName");
  } else {
    Cursor in = constants_.cursor(*constant);
    if (steps->size() == 1) {
      const Step& only = steps->front();
      Value value;
      if (only.op == Op::text) {
        read(only, &in, &value);
        out = text_of(value);
      } else if (only.op == Op::constant) {
        out = constant_text(only.type, in.integer(8), budget);
      } else {
        render(only, &in, budget, &out);
      }
    } else {
      out = object(*steps, &in, budget);
    }
  }
  --budget->depth;
  return out;
}

// NOLINTNEXTLINE(misc-no-recursion): the budget ends cycles
std::string ResolvedConstants::object(const Steps& steps, Cursor* in, Budget* budget) {
  std::string out = "{";
  for (const Step& step : steps) {
    if (budget->steps < 0) break;
    if (out.size() > TextBudget::kLongest) budget->steps = 0;
    if (out.size() > 1) out += ", ";
    quote(interned_.budget().copy(step.name), &out);
    out += ": ";
    render(step, in, budget, &out);
  }
  return out + "}";
}

void ResolvedConstants::render(const Step& step, Cursor* in, std::string* out) {
  Budget budget{kMostSteps, 0};
  render(step, in, &budget, out);
}

// NOLINTNEXTLINE(misc-no-recursion): the budget ends cycles
void ResolvedConstants::render(const Step& step, Cursor* in, Budget* budget, std::string* out) {
  if (--budget->steps < 0) {  // the rest is passed over, so that what follows is read from its place
    skip(step, in);
    *out += "null";
    return;
  }
  Value value;
  switch (step.op) {
    case Op::constant: {
      const uint64_t index = in->integer(8);
      if (constants_.find(step.type, index) == nullptr) {
        *out += "null";
        return;
      }
      const std::string text = constant_text(step.type, index, budget);
      if (!text.empty() && text.front() == '{') {
        *out += text;
      } else {
        quote(text, out);
      }
      return;
    }
    case Op::text:
      read(step, in, &value);
      quote(text_of(value), out);
      return;
    case Op::boolean:
      *out += in->byte() != 0 ? "true" : "false";
      return;
    case Op::real4:
      *out += std::to_string(in->real4());
      return;
    case Op::real8:
      *out += std::to_string(in->real8());
      return;
    case Op::array: {
      const size_t n = in->count();
      *out += "[";
      for (size_t i = 0; i < n && in->ok(); ++i) {
        if (budget->steps < 0) {
          skip(*step.each, in);
          continue;
        }
        if (out->size() > TextBudget::kLongest) budget->steps = 0;
        if (i > 0) *out += ", ";
        if (step.each->size() == 1) {
          render(step.each->front(), in, budget, out);
        } else {
          *out += object(*step.each, in, budget);
        }
      }
      *out += "]";
      return;
    }
    default:
      read(step, in, &value);
      *out += std::to_string(value.integer);
  }
}

}  // namespace headway::jfr
