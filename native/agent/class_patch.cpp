#include "agent/class_patch.h"

#include <algorithm>
#include <optional>

namespace headway::agent {
namespace {

// Java Virtual Machine Specification, chapters 4.4 (constant pool) and 6.5 (instructions).
constexpr uint32_t kMagic = 0xCAFEBABE;
enum Tag : uint8_t {
  kUtf8 = 1,
  kInteger = 3,
  kFloat = 4,
  kLong = 5,
  kDouble = 6,
  kClass = 7,
  kString = 8,
  kFieldref = 9,
  kMethodref = 10,
  kInterfaceMethodref = 11,
  kNameAndType = 12,
  kMethodHandle = 15,
  kMethodType = 16,
  kDynamic = 17,
  kInvokeDynamic = 18,
  kModule = 19,
  kPackage = 20
};
constexpr uint8_t kTableSwitch = 170;
constexpr uint8_t kLookupSwitch = 171;
constexpr uint8_t kWide = 196;
constexpr uint8_t kIinc = 132;

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

// Big-endian reading within bounds: past the end everything is 0 and `ok` is false.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> data, size_t at = 0) : data_(data), at_(at) {}
  bool ok() const { return ok_; }
  size_t at() const { return at_; }
  uint32_t number(size_t bytes) {
    if (!ok_ || at_ > data_.size() || data_.size() - at_ < bytes) {
      ok_ = false;
      return 0;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value = value << 8 | data_[at_++];
    return value;
  }
  uint8_t u1() { return static_cast<uint8_t>(number(1)); }
  uint16_t u2() { return static_cast<uint16_t>(number(2)); }
  uint32_t u4() { return number(4); }
  void skip(size_t bytes) {
    if (!ok_ || at_ > data_.size() || data_.size() - at_ < bytes) {
      ok_ = false;
    } else {
      at_ += bytes;
    }
  }

 private:
  std::span<const uint8_t> data_;
  size_t at_;
  bool ok_ = true;
};

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

// Where everything of a class file is that matters here.
class ClassFile {
 public:
  explicit ClassFile(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool read_constants();
  // Calls visit(method name, code, offset of the code in the file) for every method that has code.
  template <typename Visit>
  bool for_each_code(Visit visit) const;

  uint16_t count() const { return static_cast<uint16_t>(offsets_.size()); }
  size_t end_of_constants() const { return end_; }
  uint8_t tag(uint16_t index) const { return index < offsets_.size() && offsets_[index] ? bytes_[offsets_[index]] : 0; }
  std::string_view utf8(uint16_t index) const;
  std::string_view class_name(uint16_t index) const;
  struct Member {
    std::string_view owner;
    std::string_view name;
    std::string_view descriptor;
  };
  std::optional<Member> member(uint16_t index) const;  // of a Fieldref, Methodref or InterfaceMethodref

 private:
  uint16_t u2(uint16_t index, size_t field) const { return Reader(bytes_, offsets_[index] + 1 + 2 * field).u2(); }

  std::span<const uint8_t> bytes_;
  std::vector<uint32_t> offsets_;  // of each constant's tag; 0: there is none
  size_t end_ = 0;
};

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

template <typename Visit>
bool ClassFile::for_each_code(Visit visit) const {
  Reader reader(bytes_, end_);
  reader.skip(6);                        // access, this, super
  reader.skip(size_t{2} * reader.u2());  // interfaces
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    reader.skip(6);  // a field's access, name, descriptor
    skip_attributes(reader);
  }
  for (uint16_t left = reader.u2(); left > 0 && reader.ok(); --left) {
    reader.skip(2);
    const std::string_view name = utf8(reader.u2());
    reader.skip(2);
    for (uint16_t attributes = reader.u2(); attributes > 0 && reader.ok(); --attributes) {
      const bool is_code = utf8(reader.u2()) == "Code";
      const uint32_t length = reader.u4();
      const size_t start = reader.at();
      reader.skip(length);
      if (!is_code || !reader.ok()) continue;
      Reader code(bytes_.subspan(0, start + length), start);
      code.skip(4);  // max_stack, max_locals
      const uint32_t code_length = code.u4();
      const size_t code_at = code.at();
      code.skip(code_length);
      if (!code.ok() || !visit(name, bytes_.subspan(code_at, code_length), code_at)) return false;
    }
  }
  return skip_attributes(reader) && reader.at() == bytes_.size();
}

// New constants, to be put behind those that are there.
class NewConstants {
 public:
  explicit NewConstants(uint16_t first) : next_(first) {}
  bool overflowed() const { return next_ > UINT16_MAX; }
  uint16_t count() const { return static_cast<uint16_t>(next_); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

  uint16_t utf8(std::string_view text) {
    bytes_.push_back(kUtf8);
    u2(static_cast<uint16_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return take();
  }
  uint16_t reference(Tag tag, uint16_t first) {
    bytes_.push_back(tag);
    u2(first);
    return take();
  }
  uint16_t pair(Tag tag, uint16_t first, uint16_t second) {
    bytes_.push_back(tag);
    u2(first);
    u2(second);
    return take();
  }

 private:
  void u2(uint16_t value) {
    bytes_.push_back(static_cast<uint8_t>(value >> 8));
    bytes_.push_back(static_cast<uint8_t>(value));
  }
  // A constant pool may have 65,534 constants: the number that is its count must fit, too.
  uint16_t take() { return static_cast<uint16_t>(next_++); }

  uint32_t next_;
  std::vector<uint8_t> bytes_;
};

struct Edit {
  size_t at;  // in the file
  size_t length;
  const CallSite* site;
};

const CallSite* matching(const ClassFile& file, std::string_view method, std::span<const uint8_t> code, size_t at,
                         std::span<const CallSite> sites) {
  for (const CallSite& site : sites) {
    if (code[at] != static_cast<uint8_t>(site.opcode) || (!site.in_method.empty() && site.in_method != method))
      continue;
    const auto member = file.member(Reader(code, at + 1).u2());
    if (member && member->owner == site.owner && member->name == site.member && member->descriptor == site.descriptor) {
      return &site;
    }
  }
  return nullptr;
}

// Finds what is to be edited, and whether the hook class is called already. False: malformed.
bool find_edits(const ClassFile& file, std::span<const CallSite> sites, std::string_view hook_class,
                std::vector<Edit>& edits, bool& has_hook) {
  return file.for_each_code([&](std::string_view method, std::span<const uint8_t> code, size_t code_at) {
    for (size_t at = 0; at < code.size();) {
      const size_t length = instruction_length(code, at);
      if (length == 0) return false;
      if (const CallSite* site = matching(file, method, code, at, sites)) edits.push_back({code_at + at, length, site});
      if (code[at] == static_cast<uint8_t>(Opcode::kInvokeStatic)) {
        const auto member = file.member(Reader(code, at + 1).u2());
        has_hook = has_hook || (member && member->owner == hook_class);
      }
      at += length;
    }
    return true;
  });
}

}  // namespace

size_t instruction_length(std::span<const uint8_t> code, size_t at) noexcept {
  if (at >= code.size()) return 0;
  const uint8_t opcode = code[at];
  size_t length = opcode < kLengths.size() ? static_cast<size_t>(kLengths[opcode] - '0') : 0;
  if (opcode == kTableSwitch || opcode == kLookupSwitch) length = switch_length(code, at);
  if (opcode == kWide) length = at + 1 < code.size() ? (code[at + 1] == kIinc ? 6 : 4) : 0;
  return length <= code.size() - at ? length : 0;
}

Patch redirect_calls(std::span<const uint8_t> class_file, std::span<const CallSite> sites,
                     std::string_view hook_class) noexcept {
  Patch patch;
  ClassFile file(class_file);
  std::vector<Edit> edits;
  bool has_hook = false;
  if (!file.read_constants() || !find_edits(file, sites, hook_class, edits, has_hook)) return patch;
  if (edits.empty()) {
    patch.outcome = has_hook ? PatchOutcome::kAlreadyPatched : PatchOutcome::kNoSite;
    return patch;
  }
  NewConstants added(file.count());
  const uint16_t owner = added.reference(kClass, added.utf8(hook_class));
  std::vector<uint16_t> methods(sites.size(), 0);
  for (const Edit& edit : edits) {
    uint16_t& method = methods[static_cast<size_t>(edit.site - sites.data())];
    if (method != 0) continue;
    const uint16_t name = added.utf8(edit.site->hook);
    method = added.pair(kMethodref, owner, added.pair(kNameAndType, name, added.utf8(edit.site->hook_descriptor)));
  }
  if (added.overflowed()) return patch;

  std::vector<uint8_t>& out = patch.bytes;
  const auto end = class_file.begin() + static_cast<ptrdiff_t>(file.end_of_constants());
  out.reserve(class_file.size() + added.bytes().size());
  out.assign(class_file.begin(), end);
  out[8] = static_cast<uint8_t>(added.count() >> 8);
  out[9] = static_cast<uint8_t>(added.count());
  out.insert(out.end(), added.bytes().begin(), added.bytes().end());
  out.insert(out.end(), end, class_file.end());
  for (const Edit& edit : edits) {
    uint8_t* at = out.data() + edit.at + added.bytes().size();
    const uint16_t method = methods[static_cast<size_t>(edit.site - sites.data())];
    at[0] = static_cast<uint8_t>(Opcode::kInvokeStatic);
    at[1] = static_cast<uint8_t>(method >> 8);
    at[2] = static_cast<uint8_t>(method);
    std::fill(at + 3, at + edit.length, uint8_t{0});
  }
  patch.sites = edits.size();
  patch.outcome = PatchOutcome::kPatched;
  return patch;
}

}  // namespace headway::agent
