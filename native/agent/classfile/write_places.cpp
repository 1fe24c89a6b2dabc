#include "agent/classfile/write_places.h"

#include <array>

namespace headway::agent {
namespace {

constexpr uint8_t kIAStore = 79;
// From iastore on: int, long, float, double, reference, byte or boolean, char, short.
constexpr std::array<std::string_view, 8> kArrays = {"[I", "[J", "[F", "[D", "[L", "[B", "[C", "[S"};

}  // namespace

bool is_write(const ObjectTouch& touch) noexcept {
  return touch.kind == Access::kTupleWrite || touch.kind == Access::kArrayWrite;
}

std::vector<PlacedWrite> placed_writes(const ClassParts& parts, const MethodAt& method) {
  std::vector<PlacedWrite> found;
  const std::span<const uint8_t> code = method.code.code;
  for (const ObjectTouch& touch : owner_sites(parts, method).touches) {
    if (!is_write(touch)) continue;
    if (touch.kind == Access::kArrayWrite) {
      const size_t which = code[touch.at] - kIAStore;
      if (which < kArrays.size()) found.push_back({touch, {true, parts.name, method.name, kArrays[which]}});
    } else if (const auto field = parts.file.member(Reader(code, touch.at + 1).u2())) {
      found.push_back({touch, {false, field->owner, field->name, field->descriptor}});
    }
  }
  return found;
}

}  // namespace headway::agent
