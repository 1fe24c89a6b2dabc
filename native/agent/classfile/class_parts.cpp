#include "agent/classfile/class_parts.h"

#include <algorithm>

namespace headway::agent {
namespace {

constexpr uint16_t kStatic = 0x0008;
enum Opcodes : uint8_t { kGetStatic = 178 };

bool read_method(std::span<const uint8_t> bytes, const ClassFile& file, Reader& reader, MethodAt& method) {
  method.access = reader.u2();
  method.name = file.utf8(reader.u2());
  method.descriptor = file.utf8(reader.u2());
  method.attributes_at = reader.at();
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    const std::string_view attribute = file.utf8(reader.u2());
    const bool is_code = attribute == "Code";
    method.is_annotated = method.is_annotated || attribute == "RuntimeVisibleAnnotations";
    const size_t at = reader.at();
    const uint32_t length = reader.u4();
    reader.skip(length);
    if (!reader.ok()) return false;
    if (!is_code) continue;
    if (method.attribute_at != 0 || !read_code(bytes.subspan(at + 4, length), method.code)) return false;
    method.attribute_at = at;
  }
  return reader.ok();
}

}  // namespace

std::optional<ClassParts> read_class(std::span<const uint8_t> bytes) {
  ClassParts parts{ClassFile(bytes), {}};
  if (!parts.file.read_constants()) return std::nullopt;
  Reader reader(bytes, parts.file.end_of_constants());
  reader.skip(2);
  parts.name = parts.file.class_name(reader.u2());
  reader.skip(2);
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    parts.interfaces.push_back(parts.file.class_name(reader.u2()));
  }
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    reader.skip(6);
    skip_attributes(reader);
  }
  const uint16_t methods = reader.u2();
  for (uint16_t i = 0; i < methods && reader.ok(); ++i) {
    if (!read_method(bytes, parts.file, reader, parts.methods.emplace_back())) return std::nullopt;
  }
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    const std::string_view name = parts.file.utf8(reader.u2());
    const uint32_t length = reader.u4();
    if (name == "SourceFile" && length == 2) {
      parts.source_file = parts.file.utf8(reader.u2());
    } else {
      const size_t at = reader.at();
      reader.skip(length);
      if (name != "SourceDebugExtension" || !reader.ok()) continue;
      parts.source_map = {reinterpret_cast<const char*>(bytes.data()) + at, length};
    }
  }
  if (!reader.ok() || reader.at() != bytes.size()) return std::nullopt;
  return parts;
}

std::vector<LineStart> line_starts(const ClassFile& file, const CodeParts& code) {
  std::vector<LineStart> found;
  for (const CodeParts::Attribute& attribute : code.attributes) {
    if (file.utf8(attribute.name) != "LineNumberTable") continue;
    Reader reader(attribute.bytes);
    for (uint16_t left = reader.u2(); left > 0; --left) {
      const uint16_t at = reader.u2();
      const uint16_t line = reader.u2();
      if (!reader.ok()) break;
      found.push_back({at, line});
    }
  }
  std::ranges::stable_sort(found, {}, &LineStart::at);
  return found;
}

std::string_view forwards_to(const ClassParts& parts, const MethodAt& method) {
  const std::span<const uint8_t> code = method.code.code;
  if ((method.access & kStatic) == 0 || code.size() < 3 || code[0] != kGetStatic) return {};
  const auto field = parts.file.member(Reader(code, 1).u2());
  if (!field || (field->name != "MODULE$" && field->name != "Companion")) return {};
  std::string_view type = field->descriptor;
  if (type.size() < 2 || type.front() != 'L') return {};
  type = type.substr(1, type.size() - 2);
  return type.size() > parts.name.size() && type.starts_with(parts.name) && type[parts.name.size()] == '$'
             ? type
             : std::string_view();
}

}  // namespace headway::agent
