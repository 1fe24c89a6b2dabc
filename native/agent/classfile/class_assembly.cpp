#include "agent/classfile/class_assembly.h"

namespace headway::agent {

std::vector<uint8_t> assemble(std::span<const uint8_t> old, const ClassFile& file, const NewConstants& added,
                              std::span<const NewCode> codes) {
  std::vector<uint8_t> out;
  Writer writer(out);
  out.reserve(old.size() + old.size() / 2 + added.bytes().size());
  size_t at = file.end_of_constants();
  writer.bytes(old.first(at));
  writer.put_u2(8, added.count());
  writer.bytes(added.bytes());
  for (const NewCode& code : codes) {
    if (!code.attribute.empty()) {
      writer.bytes(old.subspan(at, code.attributes_at - at));
      writer.u2(Reader(old, code.attributes_at).u2() + size_t{1});
      writer.bytes(code.attribute);
      at = code.attributes_at + 2;
    }
    writer.bytes(old.subspan(at, code.attribute_at - at));
    writer.u4(code.bytes.size());
    writer.bytes(code.bytes);
    at = code.attribute_at + 4 + Reader(old, code.attribute_at).u4();
  }
  writer.bytes(old.subspan(at));
  return out;
}

bool calls_class(const ClassParts& parts, std::string_view hook_class) {
  constexpr uint8_t kInvokeStatic = 184;
  for (const MethodAt& method : parts.methods) {
    const std::span<const uint8_t> code = method.code.code;
    for (size_t at = 0, length = 0; at < code.size(); at += length) {
      length = instruction_length(code, at);
      if (length == 0) break;
      if (code[at] != kInvokeStatic) continue;
      const auto member = parts.file.member(Reader(code, at + 1).u2());
      if (member && member->owner == hook_class) return true;
    }
  }
  return false;
}

}  // namespace headway::agent
