#include "agent/classfile/class_file.h"

namespace headway::agent {
namespace {

// Lengths of the instructions 0 to 201, one digit each; 0: it depends (tableswitch, lookupswitch, wide).
constexpr std::string_view kLengths =
    "1111111111111111"  // 0
    "2323322222111111"  // 16
    "1111111111111111"  // 32
    "1111112222211111"  // 48
    "1111111111111111"  // 64
    "1111111111111111"  // 80
    "1111111111111111"  // 96
    "1111111111111111"  // 112
    "1111311111111111"  // 128
    "1111111113333333"  // 144
    "3333333332001111"  // 160
    "1133333335532311"  // 176
    "3311043355";       // 192

size_t switch_length(std::span<const uint8_t> code, size_t at) {
  const size_t operands = (at & ~size_t{3}) + 4;  // aligned to four bytes from the start of the code
  Reader reader(code, operands);
  reader.u4();  // default
  const auto low = static_cast<int32_t>(reader.u4());
  uint64_t bytes = operands - at + 8;
  if (code[at] == kTableSwitch) {
    const auto high = static_cast<int32_t>(reader.u4());
    if (high < low) return 0;
    bytes += 4 + 4 * (static_cast<uint64_t>(static_cast<int64_t>(high) - low) + 1);
  } else {
    if (low < 0) return 0;  // the number of pairs
    bytes += 8 * static_cast<uint64_t>(low);
  }
  return reader.ok() ? static_cast<size_t>(bytes) : 0;
}

size_t constant_length(uint8_t tag) {
  switch (tag) {
    case kInteger:
    case kFloat:
    case kFieldref:
    case kMethodref:
    case kInterfaceMethodref:
    case kNameAndType:
    case kDynamic:
    case kInvokeDynamic:
      return 4;
    case kLong:
    case kDouble:
      return 8;
    case kClass:
    case kString:
    case kMethodType:
    case kModule:
    case kPackage:
      return 2;
    case kMethodHandle:
      return 3;
    default:
      return 0;
  }
}

}  // namespace

bool ClassFile::read_constants() {
  Reader reader(bytes_);
  if (reader.u4() != kMagic) return false;
  reader.skip(4);  // version
  const uint16_t count = reader.u2();
  if (!reader.ok() || count == 0) return false;
  offsets_.assign(count, 0);
  for (uint32_t i = 1; i < count; ++i) {
    offsets_[i] = static_cast<uint32_t>(reader.at());
    const uint8_t tag = reader.u1();
    const size_t length = tag == kUtf8 ? reader.u2() : constant_length(tag);
    if (length == 0 && tag != kUtf8) return false;
    reader.skip(length);
    if (!reader.ok()) return false;
    if (tag == kLong || tag == kDouble) ++i;  // these take two numbers
  }
  end_ = reader.at();
  return true;
}

std::string_view ClassFile::utf8(uint16_t index) const {
  if (tag(index) != kUtf8) return {};
  const size_t at = offsets_[index];
  return {reinterpret_cast<const char*>(bytes_.data()) + at + 3, u2(index, 0)};
}

std::string_view ClassFile::class_name(uint16_t index) const {
  return tag(index) == kClass ? utf8(u2(index, 0)) : std::string_view();
}

std::optional<ClassFile::Member> ClassFile::member(uint16_t index) const {
  const uint8_t kind = tag(index);
  if (kind != kFieldref && kind != kMethodref && kind != kInterfaceMethodref) return std::nullopt;
  const uint16_t pair = u2(index, 1);
  if (tag(pair) != kNameAndType) return std::nullopt;
  return Member{class_name(u2(index, 0)), utf8(u2(pair, 0)), utf8(u2(pair, 1))};
}

bool skip_attributes(Reader& reader) {
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    reader.skip(2);
    reader.skip(reader.u4());
  }
  return reader.ok();
}

size_t instruction_length(std::span<const uint8_t> code, size_t at) noexcept {
  if (at >= code.size()) return 0;
  const uint8_t opcode = code[at];
  size_t length = opcode < kLengths.size() ? static_cast<size_t>(kLengths[opcode] - '0') : 0;
  if (opcode == kTableSwitch || opcode == kLookupSwitch) length = switch_length(code, at);
  if (opcode == kWide) length = at + 1 < code.size() ? (code[at + 1] == kIinc ? 6 : 4) : 0;
  return length <= code.size() - at ? length : 0;
}

}  // namespace headway::agent
