// What the writes of a class's code write to: fields of objects, and elements of the arrays that a method writes.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "agent/classfile/owner_sites.h"

namespace headway::agent {

// Views into the class file.
struct WritePlace {
  bool is_element = false;
  std::string_view owner;       // the class that a field is looked up in; of elements, the one whose code writes
  std::string_view name;        // of the field; of elements, of the method
  std::string_view descriptor;  // of the field; of elements, of the array: "[J", "[B" also for boolean, "[L"

  bool operator==(const WritePlace& other) const = default;
};

// A write of a method to an object that others may have.
struct PlacedWrite {
  ObjectTouch touch{};
  WritePlace place{};
};

// In the order of addresses. The code is one that access_pieces can read.
std::vector<PlacedWrite> placed_writes(const ClassParts& parts, const MethodAt& method);

bool is_write(const ObjectTouch& touch) noexcept;

}  // namespace headway::agent
