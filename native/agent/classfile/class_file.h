// Reads a class file and adds to its constants: what class_patch.cpp and class_insert.cpp share.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace headway::agent {

// Java Virtual Machine Specification, chapters 4.4 (constant pool) and 6.5 (instructions).
inline constexpr uint32_t kMagic = 0xCAFEBABE;
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
inline constexpr uint8_t kTableSwitch = 170;
inline constexpr uint8_t kLookupSwitch = 171;
inline constexpr uint8_t kWide = 196;
inline constexpr uint8_t kIinc = 132;

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

bool skip_attributes(Reader& reader);

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

// The length of the instruction at `at` of a method's code, operands and padding included; 0 where there is none, or
// where it does not end within the code.
size_t instruction_length(std::span<const uint8_t> code, size_t at) noexcept;

}  // namespace headway::agent
