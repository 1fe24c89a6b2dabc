#include "agent/classfile/class_accesses.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "agent/classfile/class_assembly.h"
#include "agent/classfile/class_parts.h"

namespace headway::agent {
namespace {

// Longer methods are never compiled (HugeMethodLimit), and then some hundred times as slow.
constexpr size_t kMostCompiled = 8000;
constexpr uint8_t kSipush = 17;
constexpr uint8_t kInvokeStatic = 184;

uint32_t sum_of(const AccessCounts& counts) { return std::accumulate(counts.begin(), counts.end(), uint32_t{0}); }

// The constants of the call, made when it is first needed.
class CountCall {
 public:
  CountCall(uint16_t first, std::string_view hook_class) : added_(first), hook_class_(hook_class) {}
  const NewConstants& added() const { return added_; }

  std::vector<uint8_t> bytes(int32_t counter) {
    std::vector<uint8_t> out;
    Writer writer(out);
    writer.u1(kSipush);
    writer.u2(static_cast<uint16_t>(counter));
    writer.u1(kInvokeStatic);
    writer.u2(method());
    while (out.size() % 4 != 0) writer.u1(0);  // nop
    return out;
  }

 private:
  uint16_t method() {
    if (method_ == 0) {
      const uint16_t owner = added_.reference(kClass, added_.utf8(hook_class_));
      const uint16_t name = added_.utf8("count");
      method_ = added_.pair(kMethodref, owner, added_.pair(kNameAndType, name, added_.utf8("(I)V")));
    }
    return method_;
  }

  NewConstants added_;
  std::string_view hook_class_;
  uint16_t method_ = 0;
};

// Of all methods; none: the class is malformed.
std::optional<std::vector<AccessPieces>> pieces_of(const ClassParts& parts) {
  std::vector<AccessPieces> found;
  for (const MethodAt& method : parts.methods) {
    if (method.attribute_at == 0) {
      found.emplace_back();
      continue;
    }
    std::optional<AccessPieces> pieces = access_pieces(method.code);
    if (!pieces) return std::nullopt;
    found.push_back(std::move(*pieces));
  }
  return found;
}

std::vector<AccessCounts> counters_of(std::span<const AccessPieces> methods) {
  std::vector<AccessCounts> found;
  for (const AccessPieces& method : methods) {
    for (const AccessPiece& piece : method.pieces) {
      if (std::ranges::find(found, piece.counts) == found.end()) found.push_back(piece.counts);
    }
  }
  return found;
}

// What a whole class shares while its methods are changed.
struct Counting {
  const ClassParts& parts;
  std::span<const AccessCounts> counters;
  int32_t first_counter;
  CountCall call;
  std::vector<NewCode> codes{};
};

// False: the class is malformed.
bool count_in(Counting& counting, const MethodAt& method, const AccessPieces& pieces, CountedClass& result) {
  std::vector<Inserted> inserted;
  uint32_t instructions = 0;
  for (const AccessPiece& piece : pieces.pieces) {
    const auto counter = std::ranges::find(counting.counters, piece.counts) - counting.counters.begin();
    inserted.push_back({piece.end, true, counting.call.bytes(counting.first_counter + static_cast<int32_t>(counter))});
    instructions += sum_of(piece.counts);
  }
  result.left_out += pieces.uncounted;
  if (inserted.empty()) {
    result.methods_left_out += pieces.uncounted > 0 ? 1 : 0;
    return true;
  }
  NewCode code{method.attributes_at, {}, method.attribute_at, {}};
  const size_t before = method.code.code.size();
  const bool stays_compiled =
      before > kMostCompiled || before + inserted.size() * inserted.front().bytes.size() <= kMostCompiled;
  const MoveOutcome outcome =
      stays_compiled ? move_code(counting.parts.file, method.code, inserted, 1, code.bytes) : MoveOutcome::kTooBig;
  if (outcome == MoveOutcome::kMalformed) return false;
  const bool is_done = outcome == MoveOutcome::kDone;
  if (is_done) counting.codes.push_back(std::move(code));
  (is_done ? result.instructions : result.left_out) += instructions;
  result.methods_left_out += is_done && pieces.uncounted == 0 ? 0 : 1;
  return true;
}

}  // namespace

AccessClass accesses_of(std::span<const uint8_t> class_file) noexcept {
  const std::optional<ClassParts> parts = read_class(class_file);
  if (!parts) return {};
  const auto pieces = pieces_of(*parts);
  if (!pieces) return {};
  return {true, parts->name, counters_of(*pieces)};
}

CountedClass count_accesses(std::span<const uint8_t> class_file, std::string_view hook_class,
                            int32_t first_counter) noexcept {
  CountedClass result;
  const std::optional<ClassParts> parts = read_class(class_file);
  if (!parts) return result;
  // Somebody has redefined the class with bytes that have our calls already.
  if (calls_class(*parts, hook_class)) {
    result.outcome = InsertOutcome::kAlready;
    return result;
  }
  const auto pieces = pieces_of(*parts);
  if (!pieces) return result;
  const std::vector<AccessCounts> counters = counters_of(*pieces);
  Counting counting{*parts, counters, first_counter, {parts->file.count(), hook_class}};
  CountedClass counted;
  for (size_t i = 0; i < parts->methods.size(); ++i) {
    if (!count_in(counting, parts->methods[i], (*pieces)[i], counted)) return result;
  }
  if (counting.call.added().overflowed()) return result;
  counted.outcome = counting.codes.empty() ? InsertOutcome::kNothing : InsertOutcome::kInserted;
  if (!counting.codes.empty()) {
    counted.bytes = assemble(class_file, parts->file, counting.call.added(), counting.codes);
  }
  return counted;
}

}  // namespace headway::agent
