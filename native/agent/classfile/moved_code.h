// A method's code with bytes inserted: everything in its Code attribute that names an address is rewritten
// (Java Virtual Machine Specification, 4.7.3 and the attributes that may stand in it).
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/classfile/class_file.h"

namespace headway::agent {

// Big-endian writing, at the end or over what is there.
class Writer {
 public:
  explicit Writer(std::vector<uint8_t>& out) : out_(out) {}
  size_t at() const { return out_.size(); }
  void u1(size_t value) { out_.push_back(static_cast<uint8_t>(value)); }
  void u2(size_t value) {
    u1(value >> 8);
    u1(value);
  }
  void u4(size_t value) {
    u2(value >> 16);
    u2(value);
  }
  void bytes(std::span<const uint8_t> from) { out_.insert(out_.end(), from.begin(), from.end()); }
  void put_u2(size_t at, size_t value) {
    out_[at] = static_cast<uint8_t>(value >> 8);
    out_[at + 1] = static_cast<uint8_t>(value);
  }
  void put_u4(size_t at, size_t value) {
    put_u2(at, value >> 16);
    put_u2(at + 2, value);
  }

 private:
  std::vector<uint8_t>& out_;
};

struct Handler {
  uint16_t start = 0;
  uint16_t end = 0;
  uint16_t handler = 0;
  uint16_t type = 0;
};

// A Code attribute, taken apart.
struct CodeParts {
  uint16_t max_stack = 0;
  uint16_t max_locals = 0;
  std::span<const uint8_t> code;
  std::vector<Handler> handlers;
  struct Attribute {
    uint16_t name = 0;
    std::span<const uint8_t> bytes;
  };
  std::vector<Attribute> attributes;
};
bool read_code(std::span<const uint8_t> attribute, CodeParts& parts);

// What an instruction may jump to; addresses, not offsets. False: malformed.
bool jump_targets(std::span<const uint8_t> code, size_t at, std::vector<uint32_t>& targets);

// Of inserted bytes: what is thrown between `start` and the jump before `handler` is caught, and dropped there. Nothing
// is on the stack before and behind it; `end` is an instruction of the inserted bytes, too.
struct Guard {
  uint16_t start = 0;
  uint16_t handler = 0;
  uint16_t end = 0;
  uint16_t type = 0;   // the constant of the class that is caught
  uint16_t table = 0;  // the constant "StackMapTable", for a method that has none
};

// Bytes to be put before the instruction at `at`; a multiple of four. Jumps to that instruction execute them, except
// where `only_from_above` (then those stand first): the beginning of a method, which is not the beginning of its first
// loop.
struct Inserted {
  uint32_t at = 0;
  bool only_from_above = false;
  std::vector<uint8_t> bytes;
  // Where nothing but the method's arguments is known: where it begins, from above only, or in a method without frames.
  std::vector<Guard> guards{};
};

enum class MoveOutcome { kDone, kTooBig, kMalformed };

// Appends the new attribute to `out`, without its name and length. `inserted` is sorted by `at`, at most one of a kind
// for each.
MoveOutcome move_code(const ClassFile& file, const CodeParts& parts, std::span<const Inserted> inserted,
                      uint16_t more_stack, std::vector<uint8_t>& out);

}  // namespace headway::agent
