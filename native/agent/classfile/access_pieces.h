// Finds reads and writes of fields and array elements in a method's code, summed up by straight pieces of it.
//
// A piece ends before a call, a jump, a return or a lock, and before an instruction that something jumps to: whoever
// comes to its end has executed all of it. What an exception of its own instructions (null, an index out of bounds)
// cuts short never comes there.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agent/classfile/moved_code.h"

namespace headway::agent {

enum class Access : uint8_t { kTupleRead, kTupleWrite, kArrayRead, kArrayWrite, kStaticRead, kStaticWrite };
inline constexpr size_t kAccesses = 6;
// How many instructions of each kind.
using AccessCounts = std::array<uint16_t, kAccesses>;

// The kind of an instruction; none: it is no access.
std::optional<Access> access_of(uint8_t opcode) noexcept;

struct AccessPiece {
  uint32_t end = 0;  // the instruction behind it, which is reached from above only where nothing jumps to it
  AccessCounts counts{};
};

struct AccessPieces {
  std::vector<AccessPiece> pieces;  // in the order of addresses, those without an access left out
  uint32_t uncounted = 0;  // accesses in exception handlers that cover themselves, where nothing may be inserted
};

// None: the code is malformed. `elsewhere`: addresses of accesses that are counted in another way, sorted.
std::optional<AccessPieces> access_pieces(const CodeParts& code, std::span<const uint32_t> elsewhere = {});

}  // namespace headway::agent
