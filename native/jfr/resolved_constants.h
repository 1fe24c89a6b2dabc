// The constants of a chunk resolved to what they mean: stacks, threads and texts, each worked out when it is first
// asked for.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jfr/constants.h"
#include "jfr/interning.h"

namespace headway::jfr {

// The ids of a chunk's frames, by two numbers that tell a frame. Open addressing: stacks are most of a long file's
// constants, and each frame is looked up.
class FrameIds {
 public:
  using Key = std::array<uint64_t, 2>;
  // The id of a frame; -1: not known yet, to be filled in before the next call.
  [[gnu::always_inline]] int32_t* of(const Key& key) {
    Slot* slot = find(key);
    return slot->is_used ? &slot->id : add(key);
  }

 private:
  struct Slot {
    Key key{};
    int32_t id = -1;
    bool is_used = false;
  };
  [[gnu::always_inline]] Slot* find(const Key& key) {
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>(seeded_hash(key[0] ^ seeded_hash(key[1]))) & mask;
    while (slots_[at].is_used && (slots_[at].key[0] != key[0] || slots_[at].key[1] != key[1])) at = (at + 1) & mask;
    return &slots_[at];
  }
  int32_t* add(const Key& key);
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  size_t used_ = 0;
};

// Resolves the constants of one chunk to rows and texts of the file.
class ResolvedConstants {
 public:
  ResolvedConstants(Constants* constants, InternedRows* interned);

  // The constants of a type; nullptr: there are none.
  Pool* pool(int64_t type) { return constants_.pool(type); }
  // Ids among the interned rows, of constants of a type, or -1: of nullptr, which is one that the file does not have,
  // too.
  int32_t stack(int64_t type, Constant* constant);
  int32_t thread(int64_t type, Constant* constant);
  // A constant as text; nullptr: there is none. Types of several fields come as JSON, cut short where they are deep.
  const std::string* text(int64_t type, uint64_t index);
  const std::string* string(uint64_t index) { return text(string_type_, index); }
  // The value of a step as JSON.
  void render(const Step& step, Cursor* in, std::string* out);

 private:
  struct Value {
    Op op = Op::byte;
    int64_t integer = 0;  // or the index of a constant
    int64_t type = 0;
    Text text;
  };
  struct Wanted {
    std::string_view name;
    Value* into;
  };
  struct Budget {
    int steps;
    int depth;
  };
  void pick(const Constant& constant, int64_t type, std::initializer_list<Wanted> wanted);
  void read(const Step& step, Cursor* in, Value* out);
  std::string text_of(const Value& value);
  uint32_t universal(const Value& value);
  // What a step of a frame is, told once per chunk.
  enum class Part : uint8_t { method, kind, line, integer, other };
  void learn(const Steps& frame);
  bool frames(Cursor* in, const Step& array);
  int32_t next_frame(Cursor* in);
  int32_t frame(uint64_t method, int64_t line, uint64_t kind);
  std::pair<uint32_t, uint32_t> names(Constant* method);
  std::string constant_text(int64_t type, uint64_t index, Budget* budget);
  std::string object(const Steps& steps, Cursor* in, Budget* budget);
  void render(const Step& step, Cursor* in, Budget* budget, std::string* out);

  Constants& constants_;
  InternedRows& interned_;
  int64_t string_type_ = -1, method_type_ = -1, kind_type_ = -1;
  std::deque<std::string> texts_;
  FrameIds frame_ids_;      // by method, and by line and kind
  FrameIds raw_frame_ids_;  // by their bytes, which are two or three of them where only the bytecode differs
  const Steps* frame_ = nullptr;
  std::vector<Part> parts_;     // of frame_
  Pool* methods_of_ = nullptr;  // the constants that frames name; nullptr: there are none
  Pool* kinds_of_ = nullptr;
  std::vector<std::pair<uint32_t, uint32_t>> methods_;  // class and name, in the order in which they were met
  std::vector<int32_t> scratch_;
};

// A name in the form of Class.getName(): java.util.HashMap.
std::string dotted(std::string name);

}  // namespace headway::jfr
