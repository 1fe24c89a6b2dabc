#include "agent/classfile/class_insert.h"

#include <algorithm>
#include <array>
#include <optional>

#include "agent/classfile/class_assembly.h"
#include "agent/classfile/class_parts.h"

namespace headway::agent {
namespace {

constexpr uint16_t kSynchronized = 0x0020;
constexpr uint16_t kBridge = 0x0040;
enum Opcodes : uint8_t {
  kSipush = 17,
  kALoad0 = 42,
  kALoad1 = 43,
  kPop = 87,
  kGoto = 167,
  kJsr = 168,
  kRet = 169,
  kIReturn = 172,
  kReturn = 177,
  kInvokeStatic = 184,
  kAThrow = 191,
  kMonitorExit = 195,
  kGotoW = 200,
  kJsrW = 201
};

// The instructions of a method, and where control goes from each. Invalid where the code can't be read.
class Flow {
 public:
  explicit Flow(const CodeParts& parts) : parts_(parts), starts_(parts.code.size(), false) {
    std::vector<uint32_t> targets;
    for (size_t at = 0; at < parts.code.size();) {
      const size_t length = instruction_length(parts.code, at);
      if (length == 0 || !jump_targets(parts.code, at, targets)) return;
      starts_[at] = true;
      at += length;
    }
    ok_ = std::ranges::all_of(targets, [this](uint32_t target) { return starts_[target]; });
  }
  bool ok() const { return ok_; }
  bool is_instruction(size_t at) const { return at < starts_.size() && starts_[at]; }

  // Whether execution can come from the beginning to `goal` without coming by any of `barriers`.
  bool reaches(uint32_t goal, std::span<const uint32_t> barriers) const {
    std::vector<bool> seen(starts_.size(), false);
    std::vector<uint32_t> open;
    const auto visit = [&](uint32_t at) {
      if (at >= starts_.size() || seen[at] || std::ranges::find(barriers, at) != barriers.end()) return;
      seen[at] = true;
      open.push_back(at);
    };
    visit(0);
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      if (at == goal) return true;
      visit_successors(at, visit);
    }
    return false;
  }

 private:
  template <typename Visit>
  void visit_successors(uint32_t at, Visit visit) const {
    std::vector<uint32_t> targets;
    jump_targets(parts_.code, at, targets);
    for (const uint32_t target : targets) visit(target);
    for (const Handler& handler : parts_.handlers) {
      if (handler.start <= at && at < handler.end && is_instruction(handler.handler)) visit(handler.handler);
    }
    const uint8_t opcode = parts_.code[at];
    const bool ends = opcode == kGoto || opcode == kGotoW || opcode == kAThrow || opcode == kRet ||
                      opcode == kTableSwitch || opcode == kLookupSwitch || (opcode >= kIReturn && opcode <= kReturn);
    // A subroutine of old compilers comes back behind its call.
    if (!ends) visit(at + static_cast<uint32_t>(instruction_length(parts_.code, at)));
  }

  const CodeParts& parts_;
  std::vector<bool> starts_;
  bool ok_ = false;
};

// --- where -----------------------------------------------------------------------------------------------------------

struct Spot {
  uint32_t at;
  bool only_from_above;
  uint32_t insert;  // its number
};

// A bridge calls the method that it stands for; both would count.
bool is_bridge(const ClassParts& parts, const MethodAt& method) {
  return (method.access & kBridge) != 0 && std::ranges::any_of(parts.methods, [&](const MethodAt& other) {
           return other.name == method.name && (other.access & kBridge) == 0;
         });
}

bool is_entered(const ClassParts& parts, const MethodAt& method, const Insert& insert) {
  if (insert.method.empty()) return true;
  if (insert.method != method.name || !method.descriptor.starts_with(insert.descriptor)) return false;
  return !insert.descriptor.empty() || (!is_bridge(parts, method) && forwards_to(parts, method).empty());
}

void find_stretches(std::span<const LineStart> lines, const Flow& flow, const Insert& insert, uint32_t number,
                    std::vector<Spot>& spots) {
  std::vector<uint32_t> chosen;
  int32_t before = -1;
  for (const LineStart& start : lines) {
    const bool begins = start.line != before && flow.is_instruction(start.at);
    before = start.line;
    if (!begins || (insert.where == InsertAt::kLine && start.line != insert.line)) continue;
    if (std::ranges::find(chosen, start.at) != chosen.end()) continue;
    if (insert.where == InsertAt::kLine && !chosen.empty() && !flow.reaches(start.at, chosen)) continue;
    chosen.push_back(start.at);
    spots.push_back({start.at, false, number});
  }
}

// A handler that covers itself (what releases the lock when a synchronized block fails) would run for ever if the
// inserted call failed in it, at the end of the stack: it gets none.
bool is_in_own_handler(const CodeParts& code, size_t at) {
  return std::ranges::any_of(code.handlers, [at](const Handler& handler) {
    return handler.start <= at && at < handler.end && handler.start <= handler.handler && handler.handler < handler.end;
  });
}

void find_releases(const MethodAt& method, uint32_t number, std::vector<Spot>& spots) {
  const std::span<const uint8_t> code = method.code.code;
  for (size_t at = 0; at < code.size(); at += instruction_length(code, at)) {
    const bool leaves = (method.access & kSynchronized) != 0 && code[at] >= kIReturn && code[at] <= kReturn;
    const bool releases = code[at] == kMonitorExit && !is_in_own_handler(method.code, at);
    if (leaves || releases) spots.push_back({static_cast<uint32_t>(at), false, number});
  }
}

void find_exits(std::span<const uint8_t> code, uint32_t number, std::vector<Spot>& spots) {
  for (size_t at = 0; at < code.size(); at += instruction_length(code, at)) {
    if (code[at] >= kIReturn && code[at] <= kReturn) spots.push_back({static_cast<uint32_t>(at), false, number});
  }
}

// False: the code is malformed.
bool find_spots(const ClassParts& parts, const MethodAt& method, std::span<const Insert> inserts,
                std::vector<Spot>& spots) {
  const Flow flow(method.code);
  if (!flow.ok()) return false;
  const std::vector<LineStart> lines = line_starts(parts.file, method.code);
  for (uint32_t number = 0; number < inserts.size(); ++number) {
    const Insert& insert = inserts[number];
    switch (insert.where) {
      case InsertAt::kEntry:
        if (is_entered(parts, method, insert)) spots.push_back({0, true, number});
        break;
      case InsertAt::kLine:
      case InsertAt::kStretch:
        find_stretches(lines, flow, insert, number, spots);
        break;
      case InsertAt::kRelease:
        find_releases(method, number, spots);
        break;
      case InsertAt::kExit:
        if (is_entered(parts, method, insert)) find_exits(method.code.code, number, spots);
        break;
    }
  }
  std::ranges::stable_sort(spots, [](const Spot& one, const Spot& other) {
    return one.at != other.at ? one.at < other.at : one.only_from_above && !other.only_from_above;
  });
  return true;
}

// --- what ------------------------------------------------------------------------------------------------------------

// The constants of the calls, made when they are first needed.
class Calls {
 public:
  Calls(uint16_t first, std::string_view hook_class) : added_(first), hook_class_(hook_class) {}
  const NewConstants& added() const { return added_; }

  // The attribute of a method with @ForceInline.
  std::vector<uint8_t> always_inlined() {
    std::vector<uint8_t> out;
    Writer writer(out);
    constexpr size_t kBytes = 6;
    writer.u2(added_.utf8("RuntimeVisibleAnnotations"));
    writer.u4(kBytes);
    writer.u2(1);  // annotation, which has
    writer.u2(added_.utf8("Ljdk/internal/vm/annotation/ForceInline;"));
    writer.u2(0);  // values
    return out;
  }

  // Appends the call to what stands before one instruction.
  void put(const Insert& insert, Inserted& into) {
    Writer writer(into.bytes);
    const size_t start = writer.at();
    if (insert.call == Call::kHit || insert.call == Call::kTimed) {
      writer.u1(kSipush);
      writer.u2(insert.point);
    } else if (insert.call == Call::kOwner || insert.call == Call::kOwnerSet) {
      writer.u1(kALoad0);
      writer.u1(kALoad1);
    }
    writer.u1(kInvokeStatic);
    writer.u2(method(insert.call));
    if (insert.guarded) into.guards.push_back(guard(start, writer));
    while (into.bytes.size() % 4 != 0) writer.u1(0);  // nop
  }

 private:
  // The handler of the call that was written from `start` on.
  Guard guard(size_t start, Writer& writer) {
    constexpr uint16_t kOver = 4;  // the jump itself, and the handler
    writer.u1(kGoto);
    writer.u2(kOver);
    const size_t handler = writer.at();
    writer.u1(kPop);
    writer.u1(0);  // nop: where the jump leads must be an instruction of ours, because it has a frame
    if (caught_ == 0) caught_ = added_.reference(kClass, added_.utf8("java/lang/VirtualMachineError"));
    if (table_ == 0) table_ = added_.utf8("StackMapTable");
    return {static_cast<uint16_t>(start), static_cast<uint16_t>(handler), static_cast<uint16_t>(handler + 1), caught_,
            table_};
  }

  uint16_t method(Call call) {
    struct Target {
      std::string_view name;
      std::string_view descriptor;
    };
    constexpr std::array<Target, kCalls> kTargets{
        {{"hit", "(I)V"},
         {"timed", "(I)V"},
         {"leaving", "()V"},
         {"ownerChanges", "(Ljava/util/concurrent/locks/AbstractOwnableSynchronizer;Ljava/lang/Thread;)V"},
         {"ownerIsSet", "(Ljava/util/concurrent/locks/AbstractOwnableSynchronizer;Ljava/lang/Thread;)V"}}};
    const auto number = static_cast<size_t>(call);
    if (methods_[number] == 0) {
      if (owner_ == 0) owner_ = added_.reference(kClass, added_.utf8(hook_class_));
      const uint16_t name = added_.utf8(kTargets[number].name);
      const uint16_t descriptor = added_.utf8(kTargets[number].descriptor);
      methods_[number] = added_.pair(kMethodref, owner_, added_.pair(kNameAndType, name, descriptor));
    }
    return methods_[number];
  }

  NewConstants added_;
  std::string_view hook_class_;
  static constexpr size_t kCalls = 5;
  uint16_t owner_ = 0;
  uint16_t caught_ = 0;
  uint16_t table_ = 0;
  std::array<uint16_t, kCalls> methods_{};
};

std::vector<Inserted> inserted_bytes(std::span<const Spot> spots, std::span<const Insert> inserts, Calls& calls) {
  std::vector<Inserted> found;
  for (const Spot& spot : spots) {
    if (found.empty() || found.back().at != spot.at || found.back().only_from_above != spot.only_from_above) {
      found.push_back({spot.at, spot.only_from_above, {}});
    }
    calls.put(inserts[spot.insert], found.back());
  }
  return found;
}

void count_places(std::span<const Spot> spots, std::vector<uint32_t>& places) {
  std::vector<uint32_t> seen;
  for (const Spot& spot : spots) {
    if (std::ranges::find(seen, spot.insert) != seen.end()) continue;
    seen.push_back(spot.insert);
    ++places[spot.insert];
  }
}

// False: the class is malformed.
bool insert_into(const ClassParts& parts, const MethodAt& method, std::span<const Insert> inserts, Calls& calls,
                 std::vector<NewCode>& codes, Insertion& result) {
  std::vector<Spot> spots;
  if (!find_spots(parts, method, inserts, spots)) return false;
  if (spots.empty()) return true;
  NewCode code{method.attributes_at, {}, method.attribute_at, {}};
  const auto is_inlined = [&](const Spot& spot) { return inserts[spot.insert].inlined; };
  if (std::ranges::any_of(spots, is_inlined)) {
    if (method.is_annotated) {  // in no JDK so far: not inlined, the call would do harm
      ++result.refused;
      return true;
    }
    code.attribute = calls.always_inlined();
  }
  const auto takes_two = [&](const Spot& spot) {
    return inserts[spot.insert].call == Call::kOwner || inserts[spot.insert].call == Call::kOwnerSet;
  };
  const uint16_t more_stack = std::ranges::any_of(spots, takes_two) ? 2 : 1;
  switch (move_code(parts.file, method.code, inserted_bytes(spots, inserts, calls), more_stack, code.bytes)) {
    case MoveOutcome::kDone:
      codes.push_back(std::move(code));
      count_places(spots, result.places);
      return true;
    case MoveOutcome::kTooBig:
      ++result.refused;
      return true;
    default:
      return false;
  }
}

}  // namespace

Insertion insert_calls(std::span<const uint8_t> class_file, std::span<const Insert> inserts,
                       std::string_view hook_class) noexcept {
  Insertion result;
  result.places.assign(inserts.size(), 0);
  const std::optional<ClassParts> parts = read_class(class_file);
  if (!parts) return result;
  // Somebody has redefined the class with bytes that have our calls already.
  if (calls_class(*parts, hook_class)) {
    result.outcome = InsertOutcome::kAlready;
    return result;
  }
  Calls added(parts->file.count(), hook_class);
  std::vector<NewCode> codes;
  for (const MethodAt& method : parts->methods) {
    if (method.attribute_at != 0 && !insert_into(*parts, method, inserts, added, codes, result)) return result;
  }
  if (added.added().overflowed()) return result;
  result.outcome = codes.empty() ? InsertOutcome::kNothing : InsertOutcome::kInserted;
  if (!codes.empty()) result.bytes = assemble(class_file, parts->file, added.added(), codes);
  return result;
}

}  // namespace headway::agent
