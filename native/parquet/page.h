// Encodes rows of one column as pages of a Parquet file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "parquet/encoding.h"

namespace headway::parquet {

// The numbers are those of the format.
enum class Type : uint8_t { boolean = 0, int32 = 1, int64 = 2, real = 5, text = 6 };
enum class Encoding : uint8_t { plain = 0, rle = 3, delta = 5, dictionary = 8 };

struct ColumnSpec {
  std::string name;
  Type type = Type::int64;
  bool is_nullable = false;
  bool is_compressed = false;
};

struct Null {};
struct Same {
  int64_t value = 0;
};

// A column's rows: numbers of the column's own width; places in `texts`; or one value, which every row has.
struct Values {
  std::variant<Null, Same, std::span<const int32_t>, std::span<const int64_t>, std::span<const double>,
               std::span<const uint8_t>>
      rows;
  // Numbers, and places, below it are null; nothing is below the default.
  int64_t below = INT64_MIN;
  std::shared_ptr<const std::vector<std::string>> texts;  // columns of one table have many in common
};

struct Pages {
  Encoding encoding = Encoding::plain;
  Bytes dictionary;  // the page's body; empty: there is none
  size_t dictionary_values = 0;
  Bytes data;
  size_t nulls = 0;
  std::optional<std::pair<int64_t, int64_t>> least_and_most;  // of integers
};

// Rows [begin, begin + count) of a column. Throws std::invalid_argument for values that the column can't have.
Pages pages_of(const ColumnSpec& column, const Values& values, size_t begin, size_t count);

}  // namespace headway::parquet
