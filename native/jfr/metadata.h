// The types that a chunk says its events and constants have: they, not this reader, tell how bytes become fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jfr/cursor.h"

namespace headway::jfr {

// What an integer means (annotations jdk.jfr.Timestamp and jdk.jfr.Timespan); all but `plain` become nanoseconds.
enum class Unit : uint8_t {
  plain,
  tick_time,
  tick_span,
  ns_span,
  us_span,
  ms_span,
  s_span,
  ns_time,
  ms_time,
};

struct Field {
  std::string name;
  int64_t type = 0;
  bool constant = false;  // an index of a constant of that type
  bool array = false;
  bool is_unsigned = false;
  Unit unit = Unit::plain;
};

struct Type {
  int64_t id = 0;
  std::string name;
  std::vector<Field> fields;
};

// The types of one chunk, as its metadata event declares them.
class Metadata {
 public:
  // Parses a metadata event after its head (size and type). False: it is damaged.
  bool parse(Cursor in);
  const Type* find(int64_t id) const {
    const auto found = types_.find(id);
    return found == types_.end() ? nullptr : &found->second;
  }
  const Type* find(std::string_view name) const;
  const std::unordered_map<int64_t, Type>& types() const { return types_; }
  // Chunks with the same id have the same types.
  int64_t id() const { return id_; }

 private:
  std::unordered_map<int64_t, Type> types_;
  int64_t id_ = 0;
};

}  // namespace headway::jfr
