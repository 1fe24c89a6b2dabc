// Finds the places of a method's code where objects are read and written, to ask whose they are, and those where objects
// are new, to note whose they become.
//
// An object whose constructor has not called its super class's yet can be handed to nobody: it is not among them.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/classfile/access_pieces.h"
#include "agent/classfile/class_parts.h"

namespace headway::agent {

// An instruction that reads or writes an object that is on the stack.
struct ObjectTouch {
  uint32_t at = 0;
  Access kind = Access::kTupleRead;
  bool is_wide = false;  // it writes a long or a double
};

// The instruction behind which an object is new.
struct NewObject {
  enum class Where : uint8_t { kOnStack, kArrayOnStack, kThis };
  uint32_t behind = 0;
  Where where = Where::kOnStack;  // kArrayOnStack: of arrays, which are new, too
};

struct OwnerSites {
  std::vector<ObjectTouch> touches;  // in the order of addresses, as the others
  std::vector<NewObject> made;
};

// The code is one that access_pieces can read.
OwnerSites owner_sites(const ClassParts& parts, const MethodAt& method);

}  // namespace headway::agent
