// How the bytes of a type follow each other: nested types spelled out into one flat list of steps, made once per chunk.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "jfr/cursor.h"
#include "jfr/metadata.h"

namespace headway::jfr {

enum class Op : uint8_t { byte, boolean, integer, real4, real8, text, constant, array };

struct Step;
using Steps = std::vector<Step>;

struct Step {
  Op op = Op::byte;
  uint8_t bytes = 1;  // of an integer
  bool is_unsigned = false;
  Unit unit = Unit::plain;
  int64_t type = 0;             // of a constant
  const Steps* each = nullptr;  // of an array's elements
  size_t integers = 0;          // of an array's element, if it has nothing else: how many
  std::string name;             // heapSpace.start
};

// How much may be laid out in a file, all chunks together: types within types make tens of thousands of steps of a few
// bytes, anew in each chunk. Programs use a small part of it.
class LayoutBudget {
 public:
  explicit LayoutBudget(uint64_t file_bytes) : left_(kFree + kPerByte * file_bytes) {}
  // Takes what a step with a name of so many bytes costs; false where there is not so much left.
  bool take(size_t name_bytes) {
    const uint64_t cost = kStep + name_bytes;
    left_ = cost <= left_ ? left_ - cost : 0;
    return left_ > 0;
  }

 private:
  static constexpr uint64_t kFree = 64 << 20, kPerByte = 16, kStep = 128;
  uint64_t left_;
};

// The layouts of the types of one chunk.
class Layouts {
 public:
  Layouts(const Metadata& types, LayoutBudget* budget) : types_(types), budget_(*budget) {}
  // The steps of a type's value; nullptr for a type that is unknown, nested without end, or has no bytes at all.
  const Steps* of(int64_t type);
  const Metadata& types() const { return types_; }
  // Some type has no layout because all together would be too long.
  bool is_full() const { return is_full_; }

 private:
  bool has_room(size_t name_bytes);
  bool append(const Field& field, const std::string& prefix, int depth, Steps* out);
  bool append_type(const Type& type, const std::string& prefix, int depth, Steps* out);

  const Metadata& types_;
  LayoutBudget& budget_;
  std::unordered_map<int64_t, std::unique_ptr<Steps>> known_;
  std::deque<Steps> arrays_;
  size_t steps_ = 0;
  size_t name_bytes_ = 0;
  bool is_full_ = false;
};

// Passes over a value. The cursor fails where its bytes can't be that value.
void skip(const Steps& steps, Cursor* in);
void skip(const Step& step, Cursor* in);

// The integer as its type means it: JFR writes them without regard to signs.
inline int64_t signed_value(uint64_t raw, const Step& step) {
  // Each cast apart: the two arms of a ?: would become one type.
  const bool plain = step.is_unsigned;
  if (step.bytes == 1) return plain ? int64_t{static_cast<uint8_t>(raw)} : int64_t{static_cast<int8_t>(raw)};
  if (step.bytes == 2) return plain ? int64_t{static_cast<uint16_t>(raw)} : int64_t{static_cast<int16_t>(raw)};
  if (step.bytes == 4) return plain ? int64_t{static_cast<uint32_t>(raw)} : int64_t{static_cast<int32_t>(raw)};
  return static_cast<int64_t>(raw);
}

}  // namespace headway::jfr
