#include "agent/classfile/access_pieces.h"

#include <algorithm>
#include <numeric>

namespace headway::agent {
namespace {

enum Opcodes : uint8_t {
  kIALoad = 46,
  kSALoad = 53,
  kIAStore = 79,
  kSAStore = 86,
  kIfEq = 153,
  kReturn = 177,
  kGetStatic = 178,
  kPutStatic = 179,
  kGetField = 180,
  kPutField = 181,
  kInvokeVirtual = 182,
  kInvokeDynamic = 186,
  kAThrow = 191,
  kMonitorEnter = 194,
  kMonitorExit = 195,
  kIfNull = 198,
  kJsrW = 201
};

bool ends_piece(std::span<const uint8_t> code, size_t at) {
  const uint8_t opcode = code[at] == kWide ? code[at + 1] : code[at];  // wide ret
  return (opcode >= kIfEq && opcode <= kReturn) || (opcode >= kInvokeVirtual && opcode <= kInvokeDynamic) ||
         opcode == kAThrow || opcode == kMonitorEnter || opcode == kMonitorExit ||
         (opcode >= kIfNull && opcode <= kJsrW);
}

// The instructions that control may come to otherwise than from above. None: the code can't be read.
std::optional<std::vector<bool>> entries(const CodeParts& parts) {
  std::vector<bool> starts(parts.code.size(), false);
  std::vector<uint32_t> targets;
  for (size_t at = 0; at < parts.code.size();) {
    const size_t length = instruction_length(parts.code, at);
    if (length == 0 || !jump_targets(parts.code, at, targets)) return std::nullopt;
    starts[at] = true;
    at += length;
  }
  for (const Handler& handler : parts.handlers) targets.push_back(handler.handler);
  std::vector<bool> found(parts.code.size(), false);
  for (const uint32_t target : targets) {
    if (target >= starts.size() || !starts[target]) return std::nullopt;
    found[target] = true;
  }
  return found;
}

// Whether what is inserted before the instruction at `at`, and reached from above only, is covered by a handler that
// covers itself, too: if it failed there, at the end of the stack, it would do so for ever.
bool is_in_own_handler(const CodeParts& code, size_t at) {
  return std::ranges::any_of(code.handlers, [at](const Handler& handler) {
    return handler.start < at && at < handler.end && handler.start <= handler.handler && handler.handler < handler.end;
  });
}

}  // namespace

std::optional<Access> access_of(uint8_t opcode) noexcept {
  if (opcode >= kIALoad && opcode <= kSALoad) return Access::kArrayRead;
  if (opcode >= kIAStore && opcode <= kSAStore) return Access::kArrayWrite;
  switch (opcode) {
    case kGetStatic:
      return Access::kStaticRead;
    case kPutStatic:
      return Access::kStaticWrite;
    case kGetField:
      return Access::kTupleRead;
    case kPutField:
      return Access::kTupleWrite;
    default:
      return std::nullopt;
  }
}

std::optional<AccessPieces> access_pieces(const CodeParts& code, std::span<const uint32_t> elsewhere) {
  const std::optional<std::vector<bool>> is_entry = entries(code);
  if (!is_entry) return std::nullopt;
  AccessPieces found;
  AccessCounts counts{};
  const auto end_at = [&](size_t at) {
    const uint32_t sum = std::accumulate(counts.begin(), counts.end(), uint32_t{0});
    if (sum == 0) return;
    if (is_in_own_handler(code, at)) {
      found.uncounted += sum;
    } else {
      found.pieces.push_back({static_cast<uint32_t>(at), counts});
    }
    counts = {};
  };
  for (size_t at = 0; at < code.code.size(); at += instruction_length(code.code, at)) {
    const uint8_t opcode = code.code[at];
    if ((*is_entry)[at] || ends_piece(code.code, at)) end_at(at);
    const auto kind = access_of(opcode);
    if (kind && !std::ranges::binary_search(elsewhere, at)) ++counts[static_cast<size_t>(*kind)];
  }
  return found;
}

}  // namespace headway::agent
