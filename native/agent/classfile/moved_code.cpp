#include "agent/classfile/moved_code.h"

#include <algorithm>
#include <limits>

namespace headway::agent {
namespace {

constexpr uint32_t kNoInstruction = UINT32_MAX;
constexpr uint32_t kMostCode = 65535;

enum Opcodes : uint8_t { kIfEq = 153, kJsr = 168, kIfNull = 198, kIfNonNull = 199, kGotoW = 200, kJsrW = 201 };

bool is_short_jump(uint8_t opcode) {
  return (opcode >= kIfEq && opcode <= kJsr) || opcode == kIfNull || opcode == kIfNonNull;
}
bool is_long_jump(uint8_t opcode) { return opcode == kGotoW || opcode == kJsrW; }
bool is_switch(uint8_t opcode) { return opcode == kTableSwitch || opcode == kLookupSwitch; }

// Calls visit(where in the code an offset of four bytes stands) for each jump of the switch at `at`, which is whole.
template <typename Visit>
void for_each_case(std::span<const uint8_t> code, size_t at, Visit visit) {
  const size_t operands = (at & ~size_t{3}) + 4;
  const size_t end = at + instruction_length(code, at);
  visit(operands);
  const bool is_table = code[at] == kTableSwitch;
  for (size_t jump = operands + 12; jump + 4 <= end; jump += is_table ? 4 : 8) visit(jump);
}

// Where every instruction of the code is afterwards.
class Addresses {
 public:
  // False: the code can't be read.
  bool compute(std::span<const uint8_t> code, std::span<const Inserted> inserted) {
    to_.assign(code.size() + 1, {kNoInstruction, 0, 0});
    size_t next = 0;
    uint32_t moved = 0;
    for (size_t at = 0; at < code.size();) {
      const uint32_t before = static_cast<uint32_t>(at) + moved;
      for (; next < inserted.size() && inserted[next].at == at && inserted[next].only_from_above; ++next) {
        moved += static_cast<uint32_t>(inserted[next].bytes.size());
      }
      const uint32_t here = static_cast<uint32_t>(at) + moved;
      for (; next < inserted.size() && inserted[next].at == at; ++next) {
        moved += static_cast<uint32_t>(inserted[next].bytes.size());
      }
      to_[at] = {here, static_cast<uint32_t>(at) + moved, before};
      const size_t length = instruction_length(code, at);
      if (length == 0) return false;
      at += length;
    }
    const uint32_t end = static_cast<uint32_t>(code.size()) + moved;
    to_[code.size()] = {end, end, end};
    return next == inserted.size();
  }
  bool is_instruction(size_t at) const { return at < to_.size() && to_[at].here != kNoInstruction; }
  // Where a jump to `at` goes: before what was inserted.
  uint32_t target(size_t at) const { return to_[at].here; }
  // Where what is above `at` ends: before all that was inserted.
  uint32_t end_above(size_t at) const { return to_[at].before; }
  // The instruction itself.
  uint32_t instruction(size_t at) const { return to_[at].itself; }
  uint32_t end() const { return to_.back().here; }
  // The same as target for tables that a JVM does not check: the instruction that `at` is within.
  uint32_t about(size_t at) const {
    at = std::min(at, to_.size() - 1);
    while (!is_instruction(at)) --at;  // 0 is one, or the code is empty
    return to_[at].here;
  }
  uint32_t about_instruction(size_t at) const {
    at = std::min(at, to_.size() - 1);
    while (!is_instruction(at)) --at;
    return to_[at].itself;
  }

 private:
  struct To {
    uint32_t here;
    uint32_t itself;
    uint32_t before;
  };
  std::vector<To> to_;
};

// --- the code itself -------------------------------------------------------------------------------------------------

MoveOutcome move_jump(std::span<const uint8_t> code, size_t at, const Addresses& to, size_t copy, Writer& writer) {
  const bool is_short = is_short_jump(code[at]);
  Reader reader(code, at + 1);
  const int64_t offset =
      is_short ? int64_t{static_cast<int16_t>(reader.u2())} : int64_t{static_cast<int32_t>(reader.u4())};
  const int64_t target = static_cast<int64_t>(at) + offset;
  if (target < 0 || !to.is_instruction(static_cast<size_t>(target))) return MoveOutcome::kMalformed;
  const int64_t moved = static_cast<int64_t>(to.target(static_cast<size_t>(target))) - to.instruction(at);
  if (is_short && (moved < INT16_MIN || moved > INT16_MAX)) return MoveOutcome::kTooBig;
  if (is_short) {
    writer.put_u2(copy + 1, static_cast<size_t>(moved));
  } else {
    writer.put_u4(copy + 1, static_cast<size_t>(moved));
  }
  return MoveOutcome::kDone;
}

MoveOutcome move_switch(std::span<const uint8_t> code, size_t at, const Addresses& to, size_t copy, Writer& writer) {
  MoveOutcome outcome = MoveOutcome::kDone;
  for_each_case(code, at, [&](size_t jump) {
    const int64_t target = static_cast<int64_t>(at) + static_cast<int32_t>(Reader(code, jump).u4());
    if (target < 0 || !to.is_instruction(static_cast<size_t>(target))) {
      outcome = MoveOutcome::kMalformed;
      return;
    }
    const int64_t moved = static_cast<int64_t>(to.target(static_cast<size_t>(target))) - to.instruction(at);
    writer.put_u4(copy + (jump - at), static_cast<size_t>(moved));
  });
  return outcome;
}

MoveOutcome move_instructions(std::span<const uint8_t> code, std::span<const Inserted> inserted, const Addresses& to,
                              std::vector<uint8_t>& out) {
  Writer writer(out);
  size_t next = 0;
  for (size_t at = 0; at < code.size();) {
    for (; next < inserted.size() && inserted[next].at == at; ++next) writer.bytes(inserted[next].bytes);
    const size_t length = instruction_length(code, at);
    const size_t copy = writer.at();
    writer.bytes(code.subspan(at, length));
    MoveOutcome outcome = MoveOutcome::kDone;
    if (is_short_jump(code[at]) || is_long_jump(code[at])) outcome = move_jump(code, at, to, copy, writer);
    if (is_switch(code[at])) outcome = move_switch(code, at, to, copy, writer);
    if (outcome != MoveOutcome::kDone) return outcome;
    at += length;
  }
  return MoveOutcome::kDone;
}

bool move_handlers(std::span<const Handler> handlers, std::span<const Guard> guards, const Addresses& to,
                   Writer& writer) {
  writer.u2(handlers.size() + guards.size());
  for (const Guard& guard : guards) {
    constexpr uint16_t kGoto = 3;  // over the handler: nothing of it fails
    writer.u2(guard.start);
    writer.u2(size_t{guard.handler} - kGoto);
    writer.u2(guard.handler);
    writer.u2(guard.type);
  }
  for (const Handler& handler : handlers) {
    if (!to.is_instruction(handler.start) || !to.is_instruction(handler.end) || !to.is_instruction(handler.handler)) {
      return false;
    }
    writer.u2(to.target(handler.start));
    // What is inserted there is reached with what the last instruction has left, for which a handler's frame need not fit.
    writer.u2(to.end_above(handler.end));
    writer.u2(to.target(handler.handler));
    writer.u2(handler.type);
  }
  return true;
}

// --- StackMapTable ---------------------------------------------------------------------------------------------------

enum FrameTypes : uint8_t {
  kSame = 63,         // and below: the offset
  kOneOnStack = 127,  // and below, less 64: the offset
  kOneOnStackExtended = 247,
  kChop = 248,
  kSameExtended = 251,
  kFull = 255
};

constexpr uint8_t kObject = 7;

bool move_types(Reader& reader, size_t count, const Addresses& to, Writer& writer) {
  constexpr uint8_t kUninitialized = 8;
  for (; count > 0 && reader.ok(); --count) {
    const uint8_t tag = reader.u1();
    writer.u1(tag);
    if (tag == kObject) writer.u2(reader.u2());
    if (tag == kUninitialized) {
      const uint16_t created_at = reader.u2();  // the address of the `new`
      if (!to.is_instruction(created_at)) return false;
      writer.u2(to.instruction(created_at));
    }
    if (tag > kUninitialized) return false;
  }
  return reader.ok();
}

// The frame's first bytes: its kind and how far it is from the frame before.
void write_frame_head(uint8_t type, size_t delta, Writer& writer) {
  if (type <= kSame && delta <= kSame) {
    writer.u1(delta);
  } else if (type <= kSame) {
    writer.u1(kSameExtended);
    writer.u2(delta);
  } else if (type <= kOneOnStack && delta <= kSame) {
    writer.u1(kSame + 1 + delta);
  } else {
    writer.u1(type <= kOneOnStack ? size_t{kOneOnStackExtended} : type);
    writer.u2(delta);
  }
}

// The frames of guards, before which a method has no others; returns the address of the last.
int64_t add_frames(std::span<const Guard> guards, Writer& writer) {
  int64_t last = -1;
  for (const Guard& guard : guards) {
    write_frame_head(kOneOnStack, static_cast<size_t>(guard.handler - last - 1), writer);
    writer.u1(kObject);
    writer.u2(guard.type);
    write_frame_head(0, size_t{guard.end} - guard.handler - 1U, writer);
    last = guard.end;
  }
  return last;
}

bool move_frames(std::span<const uint8_t> table, std::span<const Guard> guards, const Addresses& to, Writer& writer) {
  Reader reader(table);
  const uint16_t count = reader.u2();
  writer.u2(count + 2 * guards.size());
  int64_t at = -1;
  int64_t moved = add_frames(guards, writer);
  for (uint16_t i = 0; i < count && reader.ok(); ++i) {
    const uint8_t type = reader.u1();
    if (type > kOneOnStack && type < kOneOnStackExtended) return false;
    const uint16_t delta = type <= kSame ? type : type <= kOneOnStack ? type - (kSame + 1) : reader.u2();
    at += 1 + delta;
    if (!to.is_instruction(static_cast<size_t>(at))) return false;
    const int64_t target = to.target(static_cast<size_t>(at));
    write_frame_head(type, static_cast<size_t>(target - moved - 1), writer);
    moved = target;
    bool fine = true;
    if (type > kSame && type <= kOneOnStackExtended) fine = move_types(reader, 1, to, writer);
    if (type > kSameExtended && type < kFull) fine = move_types(reader, type - size_t{kSameExtended}, to, writer);
    for (int part = 0; type == kFull && fine && part < 2; ++part) {  // locals, stack
      const uint16_t types = reader.u2();
      writer.u2(types);
      fine = move_types(reader, types, to, writer);
    }
    if (!fine) return false;
  }
  return reader.ok();
}

// --- tables that a JVM shows, and does not verify --------------------------------------------------------------------

bool move_lines(std::span<const uint8_t> table, const Addresses& to, Writer& writer) {
  Reader reader(table);
  const uint16_t count = reader.u2();
  writer.u2(count);
  for (uint16_t i = 0; i < count; ++i) {
    const uint16_t start = reader.u2();
    writer.u2(start == 0 ? 0 : to.about(start));  // what is put before the first line is that line's
    writer.u2(reader.u2());
  }
  return reader.ok();
}

// The two numbers that stand at `at` of `out`: where a range begins, and how long it is.
void move_range(std::vector<uint8_t>& out, size_t at, const Addresses& to) {
  Reader reader(out, at);
  const uint16_t start = reader.u2();
  const size_t end = size_t{start} + reader.u2();
  Writer writer(out);
  writer.put_u2(at, to.about(start));
  writer.put_u2(at + 2, to.about(end) - to.about(start));
}

bool move_variables(std::span<const uint8_t> table, const Addresses& to, std::vector<uint8_t>& out) {
  const size_t count = Reader(table).u2();
  if (table.size() < 2 + 10 * count) return false;
  const size_t copy = out.size();
  Writer(out).bytes(table);
  for (size_t i = 0; i < count; ++i) move_range(out, copy + 2 + 10 * i, to);
  return true;
}

bool skip_annotation(Reader& reader, int depth);

bool skip_element(Reader& reader, int depth) {
  switch (reader.u1()) {
    case 'e':
      reader.skip(4);
      break;
    case '@':
      return depth > 0 && skip_annotation(reader, depth - 1);
    case '[':
      for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
        if (depth == 0 || !skip_element(reader, depth - 1)) return false;
      }
      break;
    default:
      reader.skip(2);
  }
  return reader.ok();
}

bool skip_annotation(Reader& reader, int depth) {
  reader.skip(2);
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    reader.skip(2);
    if (!skip_element(reader, depth)) return false;
  }
  return reader.ok();
}

// The part of a type annotation that says where the type stands, of which `out` has a copy that begins at `copy`.
bool move_annotation_target(Reader& reader, const Addresses& to, std::vector<uint8_t>& out, size_t copy) {
  const uint8_t target = reader.u1();
  if (target == 0x40 || target == 0x41) {  // local variables
    for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
      const size_t at = copy + reader.at();
      reader.skip(6);
      if (reader.ok()) move_range(out, at, to);
    }
  } else if (target >= 0x43 && target <= 0x4B) {  // instructions
    const size_t at = copy + reader.at();
    const uint16_t instruction = reader.u2();
    if (reader.ok()) Writer(out).put_u2(at, to.about_instruction(instruction));
    if (target >= 0x47) reader.skip(1);
  } else if (target <= 0x01 || target == 0x16) {
    reader.skip(1);
  } else if (target < 0x13 || target == 0x17 || target == 0x42) {
    reader.skip(2);
  } else if (target > 0x15) {
    return false;
  }
  return reader.ok();
}

// Nothing reads them at run time: what can't be understood stays as it is.
void move_annotations(std::span<const uint8_t> table, const Addresses& to, std::vector<uint8_t>& out) {
  constexpr int kMostDepth = 16;
  const size_t copy = out.size();
  Writer(out).bytes(table);
  Reader reader(table);
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    if (!move_annotation_target(reader, to, out, copy)) return;
    reader.skip(size_t{2} * reader.u1());  // the path within the type
    if (!skip_annotation(reader, kMostDepth)) return;
  }
}

bool move_attribute(std::string_view name, std::span<const uint8_t> bytes, std::span<const Guard> guards,
                    const Addresses& to, std::vector<uint8_t>& out) {
  Writer writer(out);
  if (name == "StackMapTable") return move_frames(bytes, guards, to, writer);
  if (name == "LineNumberTable") return move_lines(bytes, to, writer);
  if (name == "LocalVariableTable" || name == "LocalVariableTypeTable") return move_variables(bytes, to, out);
  if (name == "RuntimeVisibleTypeAnnotations" || name == "RuntimeInvisibleTypeAnnotations") {
    move_annotations(bytes, to, out);
    return true;
  }
  writer.bytes(bytes);
  return true;
}

constexpr std::string_view kStackMap = "StackMapTable";

Guard moved_by(const Guard& guard, uint16_t by) {
  return {static_cast<uint16_t>(guard.start + by), static_cast<uint16_t>(guard.handler + by),
          static_cast<uint16_t>(guard.end + by), guard.type, guard.table};
}

bool move_attributes(const ClassFile& file, const CodeParts& parts, std::span<const Guard> guards, const Addresses& to,
                     std::vector<uint8_t>& out) {
  static constexpr uint8_t kNoFrames[] = {0, 0};
  std::vector<CodeParts::Attribute> attributes = parts.attributes;
  const auto is_frames = [&](const CodeParts::Attribute& attribute) { return file.utf8(attribute.name) == kStackMap; };
  const bool has_frames = std::ranges::any_of(attributes, is_frames);
  Writer writer(out);
  if (!guards.empty() && !has_frames) attributes.push_back({guards.front().table, kNoFrames});
  writer.u2(attributes.size());
  for (const CodeParts::Attribute& attribute : attributes) {
    const bool is_new = !guards.empty() && attribute.name == guards.front().table;
    writer.u2(attribute.name);
    const size_t length_at = writer.at();
    writer.u4(0);
    const std::string_view name = is_new ? kStackMap : file.utf8(attribute.name);
    if (!move_attribute(name, attribute.bytes, guards, to, out)) return false;
    writer.put_u4(length_at, writer.at() - length_at - 4);
  }
  return true;
}

}  // namespace

bool read_code(std::span<const uint8_t> attribute, CodeParts& parts) {
  Reader reader(attribute);
  parts.max_stack = reader.u2();
  parts.max_locals = reader.u2();
  const uint32_t length = reader.u4();
  const size_t code_at = reader.at();
  reader.skip(length);
  if (!reader.ok() || length == 0 || length > kMostCode) return false;
  parts.code = attribute.subspan(code_at, length);
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    const uint16_t start = reader.u2();
    const uint16_t end = reader.u2();
    const uint16_t handler = reader.u2();
    parts.handlers.push_back({start, end, handler, reader.u2()});
  }
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    const uint16_t name = reader.u2();
    const uint32_t bytes = reader.u4();
    const size_t at = reader.at();
    reader.skip(bytes);
    if (reader.ok()) parts.attributes.push_back({name, attribute.subspan(at, bytes)});
  }
  return reader.ok() && reader.at() == attribute.size();
}

bool jump_targets(std::span<const uint8_t> code, size_t at, std::vector<uint32_t>& targets) {
  const auto add = [&](int64_t offset) {
    const int64_t target = static_cast<int64_t>(at) + offset;
    if (target < 0 || target >= static_cast<int64_t>(code.size())) return false;
    targets.push_back(static_cast<uint32_t>(target));
    return true;
  };
  const uint8_t opcode = code[at];
  if (is_short_jump(opcode)) return add(static_cast<int16_t>(Reader(code, at + 1).u2()));
  if (is_long_jump(opcode)) return add(static_cast<int32_t>(Reader(code, at + 1).u4()));
  bool fine = true;
  if (is_switch(opcode)) {
    for_each_case(code, at, [&](size_t jump) { fine = add(static_cast<int32_t>(Reader(code, jump).u4())) && fine; });
  }
  return fine;
}

MoveOutcome move_code(const ClassFile& file, const CodeParts& parts, std::span<const Inserted> inserted,
                      uint16_t more_stack, std::vector<uint8_t>& out) {
  Addresses to;
  if (!to.compute(parts.code, inserted)) return MoveOutcome::kMalformed;
  if (to.end() > kMostCode || parts.max_stack > std::numeric_limits<uint16_t>::max() - more_stack) {
    return MoveOutcome::kTooBig;
  }
  Writer writer(out);
  writer.u2(parts.max_stack + size_t{more_stack});
  writer.u2(parts.max_locals);
  writer.u4(to.end());
  const MoveOutcome outcome = move_instructions(parts.code, inserted, to, out);
  if (outcome != MoveOutcome::kDone) return outcome;
  std::vector<Guard> guards = inserted.empty() ? std::vector<Guard>() : inserted.front().guards;
  for (size_t i = 1; i < inserted.size(); ++i) {
    if (inserted[i].guards.empty()) continue;
    // What is known there is told as what has changed since the method began: nothing, if nothing was told in between.
    const auto is_frames = [&](const CodeParts::Attribute& each) { return file.utf8(each.name) == kStackMap; };
    if (std::ranges::any_of(parts.attributes, is_frames)) return MoveOutcome::kMalformed;
    const auto by = static_cast<uint16_t>(to.target(inserted[i].at));
    for (const Guard& guard : inserted[i].guards) guards.push_back(moved_by(guard, by));
  }
  if (!move_handlers(parts.handlers, guards, to, writer)) return MoveOutcome::kMalformed;
  return move_attributes(file, parts, guards, to, out) ? MoveOutcome::kDone : MoveOutcome::kMalformed;
}

}  // namespace headway::agent
