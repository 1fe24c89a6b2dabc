// A class file taken apart as far as inserting calls needs it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/classfile/moved_code.h"

namespace headway::agent {

struct MethodAt {
  uint16_t access = 0;
  std::string_view name;
  std::string_view descriptor;
  size_t attributes_at = 0;  // of the number of its attributes in the class file
  bool is_annotated = false;
  size_t attribute_at = 0;  // of the Code attribute's length in the class file; 0: no code
  CodeParts code{};
};

struct ClassParts {
  ClassFile file;
  std::string_view name;
  std::vector<std::string_view> interfaces{};
  std::vector<MethodAt> methods{};
  std::string_view source_file{};
  std::string_view source_map{};  // as in source_map.h
};

std::optional<ClassParts> read_class(std::span<const uint8_t> bytes);

struct LineStart {
  uint16_t at;
  uint16_t line;
};

// In the order of addresses.
std::vector<LineStart> line_starts(const ClassFile& file, const CodeParts& code);

// The class of whose only instance a static method begins with: "Server$" in Server's forwarders to Scala's object
// Server, Kotlin's companion; empty: it does not.
std::string_view forwards_to(const ClassParts& parts, const MethodAt& method);

}  // namespace headway::agent
