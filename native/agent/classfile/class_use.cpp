#include "agent/classfile/class_use.h"

namespace headway::agent {

bool may_enter_monitor(std::span<const uint8_t> code, size_t at) noexcept {
  constexpr uint8_t kMonitorEnter = 194;
  if (at < code.size() && code[at] == kMonitorEnter) return true;
  if (at == 0 || at > code.size() || code[at - 1] != kMonitorEnter) return false;
  size_t next = 0;  // that byte may be an operand
  while (next < at - 1) {
    const size_t length = instruction_length(code, next);
    if (length == 0) return true;
    next += length;
  }
  return next == at - 1;
}

std::string_view class_in_use(const ClassFile& constants, std::span<const uint8_t> code, size_t at) noexcept {
  constexpr uint8_t kGetStatic = 178;
  constexpr uint8_t kPutStatic = 179;
  constexpr uint8_t kInvokeStatic = 184;
  constexpr uint8_t kNew = 187;
  Reader reader(code, at);
  const uint8_t opcode = reader.u1();
  const uint16_t index = reader.u2();
  if (!reader.ok()) return {};
  if (opcode == kNew) return constants.class_name(index);
  if (opcode != kGetStatic && opcode != kPutStatic && opcode != kInvokeStatic) return {};
  const auto member = constants.member(index);
  return member ? member->owner : std::string_view();
}

}  // namespace headway::agent
