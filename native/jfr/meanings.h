// What the constants of a chunk mean: stacks, threads and texts, each worked out when it is first asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jfr/constants.h"
#include "jfr/universe.h"

namespace headway::jfr {

class Meanings {
 public:
  Meanings(Constants* constants, Universe* universe);

  // Ids in the universe; -1: none, or not in this file.
  int32_t stack(int64_t type, uint64_t index);
  int32_t thread(int64_t type, uint64_t index);
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
  bool frames(Cursor* in, const Step& array);
  int32_t frame(uint64_t method, int64_t line, uint64_t kind);
  std::string constant_text(int64_t type, uint64_t index, Budget* budget);
  std::string object(const Steps& steps, Cursor* in, Budget* budget);
  void render(const Step& step, Cursor* in, Budget* budget, std::string* out);

  Constants& constants_;
  Universe& universe_;
  int64_t string_type_ = -1, method_type_ = -1, kind_type_ = -1;
  std::deque<std::string> texts_;
  struct FrameKey {
    uint64_t method, line_and_kind;
    bool operator==(const FrameKey&) const = default;
  };
  struct FrameHash {
    size_t operator()(const FrameKey& key) const {
      return static_cast<size_t>((key.method ^ (key.line_and_kind * 0x9e3779b97f4a7c15ULL)) * 0xff51afd7ed558ccdULL >>
                                 7);
    }
  };
  std::unordered_map<FrameKey, int32_t, FrameHash> frame_ids_;
  std::vector<int32_t> scratch_;
};

// A name in the form of Class.getName(): java.util.HashMap.
std::string dotted(std::string name);

}  // namespace headway::jfr
