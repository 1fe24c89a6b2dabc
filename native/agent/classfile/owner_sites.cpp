#include "agent/classfile/owner_sites.h"

#include <algorithm>
#include <optional>

namespace headway::agent {
namespace {

enum Opcodes : uint8_t {
  kIStore = 54,
  kAStore = 58,
  kIStore0 = 59,
  kAStore3 = 78,
  kLAStore = 80,
  kDAStore = 82,
  kGoto = 167,
  kJsr = 168,
  kRet = 169,
  kReturn = 177,
  kInvokeVirtual = 182,
  kInvokeSpecial = 183,
  kInvokeStatic = 184,
  kNew = 187,
  kNewArray = 188,
  kANewArray = 189,
  kAThrow = 191,
  kMultiANewArray = 197,
  kGotoW = 200,
  kJsrW = 201
};

constexpr int kMostNew = 100;

bool goes_on_below(uint8_t opcode) {
  return opcode != kGoto && opcode != kGotoW && opcode != kAThrow && (opcode < kRet || opcode > kReturn);
}

// Whether an instruction writes the local variable 0.
bool stores_first(std::span<const uint8_t> code, size_t at) {
  const uint8_t opcode = code[at];
  if (opcode >= kIStore && opcode <= kAStore) return code[at + 1] == 0;
  if (opcode >= kIStore0 && opcode <= kAStore3) return (opcode - kIStore0) % 4 == 0;
  return opcode == kWide && Reader(code, at + 2).u2() == 0;
}

// What is known before an instruction of a constructor, on any way there.
struct ConstructorState {
  bool is_reached = false;
  bool is_raw = false;  // `this` may not be initialised
  int news = 0;         // so many objects at most were created, and not initialised
};

// Follows a constructor from its beginning. Errs towards objects that are not initialised.
class Constructor {
 public:
  Constructor(const ClassFile& file, const CodeParts& code) : file_(file), code_(code), before_(code.code.size()) {
    reach(0, {true, true, 0});
    while (!open_.empty()) {
      const uint32_t at = open_.back();
      open_.pop_back();
      step(at);
    }
  }
  // What can't be followed: subroutines of the oldest compilers.
  bool is_followed() const { return is_followed_; }
  bool may_be_raw(size_t at) const { return before_[at].is_raw || !before_[at].is_reached; }
  // A call of a constructor at `at` is that of the super class or of another one of this class, of this object.
  bool initialises_this(size_t at) const {
    return before_[at].is_reached && before_[at].is_raw && before_[at].news == 0 && is_constructor_call(at);
  }

 private:
  bool is_constructor_call(size_t at) const {
    if (code_.code[at] != kInvokeSpecial) return false;
    const auto member = file_.member(Reader(code_.code, at + 1).u2());
    return member && member->name == "<init>";
  }

  void reach(size_t at, const ConstructorState& with) {
    if (at >= before_.size()) return;
    ConstructorState& known = before_[at];
    const ConstructorState both{true, known.is_raw || with.is_raw, std::max(known.news, with.news)};
    if (known.is_reached && both.is_raw == known.is_raw && both.news == known.news) return;
    known = both;
    open_.push_back(static_cast<uint32_t>(at));
  }

  void step(uint32_t at) {
    const uint8_t opcode = code_.code[at];
    ConstructorState after = before_[at];
    for (const Handler& handler : code_.handlers) {
      if (handler.start <= at && at < handler.end) reach(handler.handler, after);
    }
    if (opcode == kJsr || opcode == kJsrW || opcode == kRet) is_followed_ = false;
    if (opcode == kNew) after.news = std::min(after.news + 1, kMostNew);
    if (is_constructor_call(at)) {
      if (after.news > 0) {
        --after.news;
      } else {
        after.is_raw = false;
      }
    }
    std::vector<uint32_t> targets;
    if (!jump_targets(code_.code, at, targets)) is_followed_ = false;
    const bool is_switch = opcode == kTableSwitch || opcode == kLookupSwitch;
    if (goes_on_below(opcode) && !is_switch)
      targets.push_back(at + static_cast<uint32_t>(instruction_length(code_.code, at)));
    for (const uint32_t target : targets) reach(target, after);
  }

  const ClassFile& file_;
  const CodeParts& code_;
  std::vector<ConstructorState> before_;
  std::vector<uint32_t> open_;
  bool is_followed_ = true;
};

// Calls after which an object that nobody else has is on the stack.
bool returns_new(const ClassFile::Member& called, uint8_t opcode) {
  if (called.name == "clone" && called.descriptor == "()Ljava/lang/Object;") {
    return called.owner.starts_with('[') || (opcode == kInvokeSpecial && called.owner == "java/lang/Object");
  }
  if (opcode == kInvokeStatic && called.owner == "java/util/Arrays") return called.name.starts_with("copyOf");
  if (opcode == kInvokeStatic && called.owner == "java/lang/reflect/Array") return called.name == "newInstance";
  return opcode == kInvokeVirtual && called.owner == "java/lang/String" &&
         (called.name == "toCharArray" || (called.name == "getBytes" && called.descriptor.ends_with("[B")));
}

std::optional<NewObject::Where> made_by(const ClassFile& file, std::span<const uint8_t> code, size_t at) {
  const uint8_t opcode = code[at];
  if (opcode == kNewArray || opcode == kANewArray) return NewObject::Where::kOnStack;
  if (opcode == kMultiANewArray) return NewObject::Where::kArrayOnStack;
  if (opcode < kInvokeVirtual || opcode > kInvokeStatic) return std::nullopt;
  const auto called = file.member(Reader(code, at + 1).u2());
  if (!called || !returns_new(*called, opcode)) return std::nullopt;
  return NewObject::Where::kOnStack;
}

bool writes_wide(const ClassFile& file, std::span<const uint8_t> code, size_t at, Access kind) {
  if (kind == Access::kArrayWrite) return code[at] == kLAStore || code[at] == kDAStore;
  if (kind != Access::kTupleWrite) return false;
  const auto field = file.member(Reader(code, at + 1).u2());
  return field && (field->descriptor == "J" || field->descriptor == "D");
}

// Whether what is put there is covered by a handler that covers itself.
bool is_in_own_handler(const CodeParts& code, size_t at) {
  return std::ranges::any_of(code.handlers, [at](const Handler& handler) {
    return handler.start <= at && at < handler.end && handler.start <= handler.handler && handler.handler < handler.end;
  });
}

}  // namespace

OwnerSites owner_sites(const ClassParts& parts, const MethodAt& method) {
  const std::span<const uint8_t> code = method.code.code;
  std::optional<Constructor> constructor;
  if (method.name == "<init>") constructor.emplace(parts.file, method.code);
  if (constructor && !constructor->is_followed()) return {};
  OwnerSites found;
  bool keeps_this = true;
  for (size_t at = 0; at < code.size(); at += instruction_length(code, at)) {
    keeps_this = keeps_this && !stores_first(code, at);
    const size_t next = at + instruction_length(code, at);
    if (is_in_own_handler(method.code, at) || is_in_own_handler(method.code, next)) continue;
    const auto kind = access_of(code[at]);
    if (kind && *kind <= Access::kArrayWrite) {
      if (*kind == Access::kTupleWrite && constructor && constructor->may_be_raw(at)) continue;
      found.touches.push_back({static_cast<uint32_t>(at), *kind, writes_wide(parts.file, code, at, *kind)});
    }
    if (next >= code.size()) continue;
    if (const auto where = made_by(parts.file, code, at)) found.made.push_back({static_cast<uint32_t>(at), *where});
    if (constructor && constructor->initialises_this(at)) {
      const auto called = parts.file.member(Reader(code, at + 1).u2());
      if (called && called->owner == parts.name) continue;  // the other constructor notes it
      found.made.push_back({static_cast<uint32_t>(at), NewObject::Where::kThis});
    }
  }
  if (!keeps_this)
    std::erase_if(found.made, [](const NewObject& each) { return each.where == NewObject::Where::kThis; });
  return found;
}

}  // namespace headway::agent
