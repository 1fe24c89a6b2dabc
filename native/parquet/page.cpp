#include "parquet/page.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace headway::parquet {
namespace {

// Says of each row whether it has a value, where the column may be without.
void put_levels(const ColumnSpec& column, std::span<const uint32_t> levels, size_t rows, size_t nulls, Bytes* out) {
  if (!column.is_nullable) {
    if (nulls > 0) throw std::invalid_argument("column " + column.name + " has a row without a value");
    return;
  }
  Bytes body;
  if (nulls == 0 || nulls == rows) {
    put_run(nulls == 0 ? 1 : 0, rows, 1, &body);
  } else {
    put_hybrid(levels, 1, &body);
  }
  put_little_endian(body.size(), 4, out);
  out->insert(out->end(), body.begin(), body.end());
}

// The rows that have a value; what they were picked from where all have one.
template <typename T>
class Present {
 public:
  Present(std::span<const T> rows, int64_t below) : values_(rows) {
    nulls = static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [&](T each) { return each < below; }));
    if (nulls == 0) return;
    kept_.reserve(rows.size() - nulls);
    levels.reserve(rows.size());
    for (const T each : rows) {
      levels.push_back(each < below ? 0 : 1);
      if (each >= below) kept_.push_back(each);
    }
    values_ = kept_;
  }
  std::span<const T> values() const { return values_; }

  size_t nulls = 0;
  std::vector<uint32_t> levels;

 private:
  std::span<const T> values_;
  std::vector<T> kept_;
};

template <typename T>
void integers(const ColumnSpec& column, std::span<const T> rows, int64_t below, Pages* out) {
  const Present<T> present(rows, below);
  out->nulls = present.nulls;
  out->encoding = Encoding::delta;
  put_levels(column, present.levels, rows.size(), present.nulls, &out->data);
  put_deltas(present.values(), &out->data);
  if (present.values().empty()) return;
  T least = present.values()[0], most = least;
  for (const T each : present.values()) {
    least = std::min(least, each);
    most = std::max(most, each);
  }
  out->least_and_most.emplace(least, most);
}

void put_text(std::string_view text, Bytes* out) {
  put_little_endian(text.size(), 4, out);
  out->insert(out->end(), text.begin(), text.end());
}

// The texts that rows have, in the order in which they first do, become the dictionary: a pool is shared by the columns
// of a table, and may be far greater than what one of them has.
void texts(const ColumnSpec& column, std::span<const int32_t> rows, const Values& values, Pages* out) {
  const Present<int32_t> present(rows, values.below);
  out->nulls = present.nulls;
  put_levels(column, present.levels, rows.size(), present.nulls, &out->data);
  if (present.values().empty()) return;  // no value needs no encoding
  constexpr uint32_t kUnused = UINT32_MAX;
  std::vector<uint32_t> place_of(values.texts == nullptr ? 0 : values.texts->size(), kUnused);
  std::vector<uint32_t> places;
  places.reserve(present.values().size());
  for (const int32_t each : present.values()) {
    const auto text = static_cast<size_t>(each);
    if (each < 0 || text >= place_of.size()) throw std::invalid_argument("column " + column.name + ": no such text");
    if (place_of[text] == kUnused) {
      place_of[text] = static_cast<uint32_t>(out->dictionary_values++);
      put_text((*values.texts)[text], &out->dictionary);
    }
    places.push_back(place_of[text]);
  }
  out->encoding = Encoding::dictionary;
  const auto width = std::max(1U, static_cast<unsigned>(std::bit_width(out->dictionary_values - 1)));
  out->data.push_back(static_cast<uint8_t>(width));
  put_hybrid(places, width, &out->data);
}

void booleans(const ColumnSpec& column, std::span<const uint8_t> rows, Pages* out) {
  put_levels(column, {}, rows.size(), 0, &out->data);
  std::vector<uint32_t> bits(rows.size());
  std::transform(rows.begin(), rows.end(), bits.begin(), [](uint8_t each) { return each != 0 ? 1U : 0U; });
  Bytes body;
  put_hybrid(bits, 1, &body);
  out->encoding = Encoding::rle;
  put_little_endian(body.size(), 4, &out->data);
  out->data.insert(out->data.end(), body.begin(), body.end());
}

void reals(const ColumnSpec& column, std::span<const double> rows, Pages* out) {
  put_levels(column, {}, rows.size(), 0, &out->data);
  for (const double each : rows) put_little_endian(std::bit_cast<uint64_t>(each), 8, &out->data);
}

void same(const ColumnSpec& column, int64_t value, size_t count, Pages* out) {
  put_levels(column, {}, count, 0, &out->data);
  if (column.type == Type::boolean) {
    Bytes body;
    put_run(value != 0 ? 1 : 0, count, 1, &body);
    out->encoding = Encoding::rle;
    put_little_endian(body.size(), 4, &out->data);
    out->data.insert(out->data.end(), body.begin(), body.end());
    return;
  }
  if (column.type == Type::int32 && !std::in_range<int32_t>(value)) {
    throw std::invalid_argument("column " + column.name + ": a number of more than 32 bits");
  }
  out->encoding = Encoding::delta;
  put_same(value, count, &out->data);
  out->least_and_most.emplace(value, value);
}

bool is_integer(Type type) { return type == Type::int32 || type == Type::int64; }

}  // namespace

Pages pages_of(const ColumnSpec& column, const Values& values, size_t begin, size_t count) {
  Pages out;
  const Type type = column.type;
  const auto part = [&](const auto& rows) { return rows.subspan(begin, count); };
  if (std::holds_alternative<Null>(values.rows)) {
    out.nulls = count;
    put_levels(column, {}, count, count, &out.data);
  } else if (const auto* each = std::get_if<Same>(&values.rows);
             each != nullptr && (is_integer(type) || type == Type::boolean)) {
    same(column, each->value, count, &out);
  } else if (const auto* narrow = std::get_if<std::span<const int32_t>>(&values.rows);
             narrow != nullptr && type == Type::text) {
    texts(column, part(*narrow), values, &out);
  } else if (narrow != nullptr && type == Type::int32) {
    integers(column, part(*narrow), values.below, &out);
  } else if (const auto* wide = std::get_if<std::span<const int64_t>>(&values.rows);
             wide != nullptr && type == Type::int64) {
    integers(column, part(*wide), values.below, &out);
  } else if (const auto* real = std::get_if<std::span<const double>>(&values.rows);
             real != nullptr && type == Type::real) {
    reals(column, part(*real), &out);
  } else if (const auto* bits = std::get_if<std::span<const uint8_t>>(&values.rows);
             bits != nullptr && type == Type::boolean) {
    booleans(column, part(*bits), &out);
  } else {
    throw std::invalid_argument("column " + column.name + " was given values of another type");
  }
  return out;
}

}  // namespace headway::parquet
