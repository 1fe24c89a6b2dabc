// Puts a class file together again: with constants behind its own, and other code in some of its methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "agent/classfile/class_file.h"
#include "agent/classfile/class_parts.h"

namespace headway::agent {

// The Code attribute that a method gets.
struct NewCode {
  size_t attributes_at;            // of the number of the method's attributes
  std::vector<uint8_t> attribute;  // one that is added
  size_t attribute_at;             // of the old attribute's length
  std::vector<uint8_t> bytes;
};

// `codes` in the order of the methods.
std::vector<uint8_t> assemble(std::span<const uint8_t> old, const ClassFile& file, const NewConstants& added,
                              std::span<const NewCode> codes);

// Whether some method calls a static method of `hook_class`. Its constants alone say nothing: the JVM keeps them when
// our calls are taken out again.
bool calls_class(const ClassParts& parts, std::string_view hook_class);

}  // namespace headway::agent
