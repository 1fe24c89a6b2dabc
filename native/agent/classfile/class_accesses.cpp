#include "agent/classfile/class_accesses.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "agent/classfile/class_assembly.h"
#include "agent/classfile/class_parts.h"
#include "agent/classfile/owner_sites.h"

namespace headway::agent {
namespace {

// Longer methods are never compiled (HugeMethodLimit), and then some hundred times as slow.
constexpr size_t kMostCompiled = 8000;
constexpr size_t kFarthestJump = 32767;
constexpr size_t kMostBytes = 12;  // of what is inserted at one place for one purpose
constexpr uint16_t kMoreStack = 1, kMoreStackWithOwners = 2, kMoreStackWithPlaces = 3;

enum Opcodes : uint8_t {
  kSipush = 17,
  kALoad0 = 42,
  kPop = 87,
  kPop2 = 88,
  kDup = 89,
  kDupX2 = 91,
  kDup2 = 92,
  kDup2X1 = 93,
  kDup2X2 = 94,
  kInvokeStatic = 184
};

uint32_t sum_of(const AccessCounts& counts) { return std::accumulate(counts.begin(), counts.end(), uint32_t{0}); }

// What is done to the stack so that the object that an instruction is about to use is on top of it once more.
std::vector<uint8_t> copy_of_object(const ObjectTouch& touch) {
  switch (touch.kind) {
    case Access::kTupleRead:
      return {kDup};
    case Access::kTupleWrite:
      return touch.is_wide ? std::vector<uint8_t>{kDup2X1, kPop2, kDupX2} : std::vector<uint8_t>{kDup2, kPop};
    case Access::kArrayRead:
      return {kDup2, kPop};
    default:
      return touch.is_wide ? std::vector<uint8_t>{kDup2X2, kPop2, kDup2X2, kPop}
                           : std::vector<uint8_t>{kDupX2, kPop, kDup2X1, kPop};
  }
}

bool is_of_element(const ObjectTouch& touch) {
  return touch.kind == Access::kArrayRead || touch.kind == Access::kArrayWrite;
}

// The same, with the index of an element above it.
std::vector<uint8_t> copy_of_place(const ObjectTouch& touch) {
  if (touch.kind == Access::kArrayRead) return {kDup2};
  if (touch.kind != Access::kArrayWrite) return copy_of_object(touch);
  return touch.is_wide ? std::vector<uint8_t>{kDup2X2, kPop2, kDup2X2} : std::vector<uint8_t>{kDupX2, kPop, kDup2X1};
}

// The calls of the hook class, whose constants are made when they are first needed.
class Calls {
 public:
  Calls(uint16_t first, std::string_view hook_class) : added_(first), hook_class_(hook_class) {}
  const NewConstants& added() const { return added_; }

  std::vector<uint8_t> count(int32_t counter) { return padded({}, counter, method(count_, "count", "(I)V")); }

  std::vector<uint8_t> touch(const ObjectTouch& touch, int32_t row) {
    return padded(copy_of_object(touch), row, method(touch_, "touch", "(Ljava/lang/Object;I)V"));
  }

  std::vector<uint8_t> wrote(const ObjectTouch& touch, int32_t place) {
    const uint16_t called = is_of_element(touch) ? method(wrote_element_, "wroteElement", kOfElement)
                                                 : method(wrote_field_, "wroteField", kOfField);
    return padded(copy_of_place(touch), place, called);
  }

  std::vector<uint8_t> sample(const ObjectTouch& touch, int32_t row) {
    const uint16_t called = is_of_element(touch) ? method(sample_element_, "sampleElement", kOfElement)
                                                 : method(sample_field_, "sampleField", kOfField);
    return padded(copy_of_place(touch), row, called);
  }

  std::vector<uint8_t> unnoted() { return padded({}, {}, method(unnoted_, "unnoted", "()V")); }

  std::vector<uint8_t> made(NewObject::Where where) {
    constexpr std::string_view kDescriptor = "(Ljava/lang/Object;)V";
    const bool is_array = where == NewObject::Where::kArrayOnStack;
    const uint16_t called = is_array ? method(made_all_, "madeAll", kDescriptor) : method(made_, "made", kDescriptor);
    return padded({where == NewObject::Where::kThis ? kALoad0 : kDup}, {}, called);
  }

 private:
  static constexpr std::string_view kOfElement = "(Ljava/lang/Object;II)V", kOfField = "(Ljava/lang/Object;I)V";

  static std::vector<uint8_t> padded(std::vector<uint8_t> out, std::optional<int32_t> number, uint16_t called) {
    Writer writer(out);
    if (number) {
      writer.u1(kSipush);
      writer.u2(static_cast<uint16_t>(*number));
    }
    writer.u1(kInvokeStatic);
    writer.u2(called);
    while (out.size() % 4 != 0) writer.u1(0);  // nop
    return out;
  }

  uint16_t method(uint16_t& known, std::string_view name, std::string_view descriptor) {
    if (owner_ == 0) owner_ = added_.reference(kClass, added_.utf8(hook_class_));
    if (known == 0) {
      const uint16_t called = added_.utf8(name);
      known = added_.pair(kMethodref, owner_, added_.pair(kNameAndType, called, added_.utf8(descriptor)));
    }
    return known;
  }

  NewConstants added_;
  std::string_view hook_class_;
  uint16_t owner_ = 0, count_ = 0, touch_ = 0, unnoted_ = 0, made_ = 0, made_all_ = 0;
  uint16_t wrote_field_ = 0, wrote_element_ = 0, sample_field_ = 0, sample_element_ = 0;
};

// What is to be counted in a method.
struct Plan {
  AccessPieces pieces;
  OwnerSites sites;
  bool lacks_room = false;  // for notes of who writes
  std::vector<PlacedWrite> writes{};
  uint32_t unplaced_writes = 0;  // for want of room
  std::vector<ObjectTouch> samples{};
};

bool stays_compiled(size_t before, size_t inserted) {
  return before > kMostCompiled || before + inserted <= kMostCompiled;
}

// None: there is no room. What is too long to be compiled already may grow as far as jumps reach.
std::optional<Plan> plan_with(const MethodAt& method, OwnerSites sites) {
  std::vector<uint32_t> touched;
  for (const ObjectTouch& touch : sites.touches) touched.push_back(touch.at);
  std::optional<AccessPieces> rest = access_pieces(method.code, touched);
  if (!rest) return std::nullopt;
  const size_t places = sites.touches.size() + sites.made.size() + rest->pieces.size();
  const size_t before = method.code.code.size(), room = before > kMostCompiled ? kFarthestJump : kMostCompiled;
  if (before + places * kMostBytes > room) return std::nullopt;
  return Plan{std::move(*rest), std::move(sites)};
}

// None: the code is malformed. With owners of what is written alone where the code would become too long, or is already: a write
// that nobody notes makes what is known of its object wrong.
std::optional<Plan> plan_of(const ClassParts& parts, const MethodAt& method, bool with_owners) {
  std::optional<AccessPieces> alone = access_pieces(method.code);
  if (!alone) return std::nullopt;
  if (!with_owners) return Plan{std::move(*alone), {}};
  OwnerSites sites = owner_sites(parts, method);
  if (method.code.code.size() <= kMostCompiled) {
    if (std::optional<Plan> all = plan_with(method, sites)) return all;
  }
  std::erase_if(sites.touches, [](const ObjectTouch& touch) { return !is_write(touch); });
  sites.made.clear();
  const bool has_writes = !sites.touches.empty();
  std::optional<Plan> writes = has_writes ? plan_with(method, std::move(sites)) : std::nullopt;
  return writes ? std::move(*writes) : Plan{std::move(*alone), {}, has_writes};
}

// Adds the calls that tell what is written to, if there is room for all of them.
void plan_lines(const ClassParts& parts, const MethodAt& method, Plan& plan) {
  std::vector<PlacedWrite> writes = placed_writes(parts, method);
  const size_t others = plan.sites.touches.size() + plan.sites.made.size() + plan.pieces.pieces.size() + 1;
  if (method.code.code.size() + (others + writes.size()) * kMostBytes > kMostCompiled) {
    plan.unplaced_writes = static_cast<uint32_t>(writes.size());
  } else {
    plan.writes = std::move(writes);
  }
}

// Adds the calls at which accesses are sampled, if there is room for all of them.
void plan_nodes(const ClassParts& parts, const MethodAt& method, Plan& plan) {
  std::vector<ObjectTouch> samples = owner_sites(parts, method).touches;
  const size_t others =
      plan.sites.touches.size() + plan.sites.made.size() + plan.pieces.pieces.size() + plan.writes.size() + 1;
  const bool fits = method.code.code.size() + (others + samples.size()) * kMostBytes <= kMostCompiled;
  if (fits) plan.samples = std::move(samples);
}

// What is to be put into a class.
struct Wanted {
  bool owners = false, lines = false, nodes = false;
};

// Of all methods; none: the class is malformed.
std::optional<std::vector<Plan>> plans_of(const ClassParts& parts, const Wanted& wanted) {
  std::vector<Plan> found;
  for (const MethodAt& method : parts.methods) {
    if (method.attribute_at == 0) {
      found.emplace_back();
      continue;
    }
    std::optional<Plan> plan = plan_of(parts, method, wanted.owners);
    if (!plan) return std::nullopt;
    if (wanted.lines) plan_lines(parts, method, *plan);
    if (wanted.nodes) plan_nodes(parts, method, *plan);
    found.push_back(std::move(*plan));
  }
  return found;
}

std::vector<AccessCounts> counters_of(std::span<const Plan> methods) {
  std::vector<AccessCounts> found;
  for (const Plan& method : methods) {
    for (const AccessPiece& piece : method.pieces.pieces) {
      if (std::ranges::find(found, piece.counts) == found.end()) found.push_back(piece.counts);
    }
  }
  return found;
}

std::vector<WritePlace> places_of(std::span<const Plan> methods) {
  std::vector<WritePlace> found;
  for (const Plan& method : methods) {
    for (const PlacedWrite& write : method.writes) {
      if (std::ranges::find(found, write.place) == found.end()) found.push_back(write.place);
    }
  }
  return found;
}

// What a whole class shares while its methods are changed.
struct Counting {
  const ClassParts& parts;
  std::span<const AccessCounts> counters;
  std::span<const WritePlace> places;
  AccessNumbers numbers;
  Calls calls;
  std::vector<NewCode> codes{};
};

// What stands before each instruction: first what only what comes from above executes.
std::vector<Inserted> inserted_in(Counting& counting, const MethodAt& method, const Plan& plan) {
  std::map<std::pair<uint32_t, bool>, std::vector<uint8_t>> at;
  const auto put = [&at](uint32_t where, bool only_from_above, const std::vector<uint8_t>& bytes) {
    std::vector<uint8_t>& there = at[{where, !only_from_above}];
    there.insert(there.end(), bytes.begin(), bytes.end());
  };
  if (plan.lacks_room) put(0, true, counting.calls.unnoted());
  for (const NewObject& made : plan.sites.made) {
    const size_t next = made.behind + instruction_length(method.code.code, made.behind);
    put(static_cast<uint32_t>(next), true, counting.calls.made(made.where));
  }
  for (const AccessPiece& piece : plan.pieces.pieces) {
    const auto counter = std::ranges::find(counting.counters, piece.counts) - counting.counters.begin();
    put(piece.end, true, counting.calls.count(counting.numbers.first_counter + static_cast<int32_t>(counter)));
  }
  // Before the owner is noted that a write gives the object.
  for (const ObjectTouch& touch : plan.samples) {
    put(touch.at, false,
        counting.calls.sample(touch, *counting.numbers.first_node_row + static_cast<int32_t>(touch.kind)));
  }
  for (const ObjectTouch& touch : plan.sites.touches) {
    put(touch.at, false, counting.calls.touch(touch, *counting.numbers.first_row + static_cast<int32_t>(touch.kind)));
  }
  for (const PlacedWrite& write : plan.writes) {
    const auto place = std::ranges::find(counting.places, write.place) - counting.places.begin();
    put(write.touch.at, false,
        counting.calls.wrote(write.touch, *counting.numbers.first_place + static_cast<int32_t>(place)));
  }
  std::vector<Inserted> found;
  found.reserve(at.size());
  for (auto& [where, bytes] : at) found.push_back({where.first, !where.second, std::move(bytes)});
  return found;
}

uint32_t writes_of(const AccessCounts& counts) {
  return counts[static_cast<size_t>(Access::kTupleWrite)] + counts[static_cast<size_t>(Access::kArrayWrite)];
}

uint32_t of_objects(const AccessCounts& counts) {
  constexpr auto kOfObjects = static_cast<std::ptrdiff_t>(Access::kStaticRead);
  return std::accumulate(counts.begin(), counts.begin() + kOfObjects, uint32_t{0});
}

// False: the class is malformed.
bool count_in(Counting& counting, const MethodAt& method, const Plan& plan, CountedClass& result) {
  const std::vector<Inserted> inserted = inserted_in(counting, method, plan);
  auto instructions = static_cast<uint32_t>(plan.sites.touches.size());
  uint32_t without_owner = 0, writes = 0;
  for (const AccessPiece& piece : plan.pieces.pieces) {
    instructions += sum_of(piece.counts);
    without_owner += of_objects(piece.counts);
    writes += writes_of(piece.counts);
  }
  result.left_out += plan.pieces.uncounted;
  if (inserted.empty()) {
    result.unplaced_writes += plan.unplaced_writes;
    result.methods_left_out += plan.pieces.uncounted > 0 ? 1 : 0;
    return true;
  }
  NewCode code{method.attributes_at, {}, method.attribute_at, {}};
  size_t bytes = 0;
  for (const Inserted& each : inserted) bytes += each.bytes.size();
  const bool has_places = counting.numbers.first_place || counting.numbers.first_node_row;
  const uint16_t more_stack = has_places                   ? kMoreStackWithPlaces
                              : counting.numbers.first_row ? kMoreStackWithOwners
                                                           : kMoreStack;
  const MoveOutcome outcome = stays_compiled(method.code.code.size(), bytes)
                                  ? move_code(counting.parts.file, method.code, inserted, more_stack, code.bytes)
                                  : MoveOutcome::kTooBig;
  if (outcome == MoveOutcome::kMalformed) return false;
  const bool is_done = outcome == MoveOutcome::kDone;
  if (is_done) counting.codes.push_back(std::move(code));
  (is_done ? result.instructions : result.left_out) += instructions;
  if (is_done && counting.numbers.first_row) result.without_owner += without_owner;
  result.unplaced_writes += plan.unplaced_writes + (is_done ? 0 : static_cast<uint32_t>(plan.writes.size()));
  if (counting.numbers.first_row && (!is_done || plan.lacks_room)) {
    result.has_unnoted |= !is_done;
    result.unseen_writes += writes + static_cast<uint32_t>(std::ranges::count_if(plan.sites.touches, is_write));
  }
  result.methods_left_out += is_done && plan.pieces.uncounted == 0 ? 0 : 1;
  return true;
}

}  // namespace

AccessClass accesses_of(std::span<const uint8_t> class_file, bool with_owners, bool with_lines,
                        bool with_nodes) noexcept {
  const std::optional<ClassParts> parts = read_class(class_file);
  if (!parts) return {};
  const auto plans = plans_of(*parts, {with_owners, with_lines, with_nodes});
  if (!plans) return {};
  const bool has_owner_sites = std::ranges::any_of(
      *plans, [](const Plan& plan) { return !plan.sites.touches.empty() || !plan.sites.made.empty(); });
  return {true, parts->name, counters_of(*plans), has_owner_sites, places_of(*plans)};
}

CountedClass count_accesses(std::span<const uint8_t> class_file, std::string_view hook_class,
                            const AccessNumbers& numbers) noexcept {
  CountedClass result;
  const std::optional<ClassParts> parts = read_class(class_file);
  if (!parts) return result;
  // Somebody has redefined the class with bytes that have our calls already.
  if (calls_class(*parts, hook_class)) {
    result.outcome = InsertOutcome::kAlready;
    return result;
  }
  const auto plans = plans_of(
      *parts, {numbers.first_row.has_value(), numbers.first_place.has_value(), numbers.first_node_row.has_value()});
  if (!plans) return result;
  const std::vector<WritePlace> places = places_of(*plans);
  const std::vector<AccessCounts> counters = counters_of(*plans);
  Counting counting{*parts, counters, places, numbers, {parts->file.count(), hook_class}};
  CountedClass counted;
  for (size_t i = 0; i < parts->methods.size(); ++i) {
    if (!count_in(counting, parts->methods[i], (*plans)[i], counted)) return result;
  }
  if (counting.calls.added().overflowed()) return result;
  counted.outcome = counting.codes.empty() ? InsertOutcome::kNothing : InsertOutcome::kInserted;
  if (!counting.codes.empty()) {
    counted.bytes = assemble(class_file, parts->file, counting.calls.added(), counting.codes);
  }
  return counted;
}

}  // namespace headway::agent
