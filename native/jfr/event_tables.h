// One table of columns per type of event, as the metadata lays it out: known and unknown events alike.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decode/reading/text_pool.h"
#include "jfr/resolved_constants.h"

namespace headway::jfr {

inline constexpr int64_t kNoValue = INT64_MIN;

// From ticks of a chunk to nanoseconds, with the arithmetic of the JDK's own reader.
struct Clock {
  int64_t base_ns = 0;
  int64_t start_ticks = 0;
  double ticks_per_ns = 1;
  int64_t time_ns(int64_t ticks) const {
    const uint64_t since = static_cast<uint64_t>(ticks) - static_cast<uint64_t>(start_ticks);
    const int64_t span = span_ns(static_cast<int64_t>(since));
    return static_cast<int64_t>(static_cast<uint64_t>(base_ns) + static_cast<uint64_t>(span));
  }
  int64_t span_ns(int64_t ticks) const { return whole(static_cast<double>(ticks) / ticks_per_ns); }

 private:
  static int64_t whole(double value) {  // as Java casts: without leaving the range
    constexpr double kEnd = 9223372036854775808.0;
    if (value > -kEnd && value < kEnd) return static_cast<int64_t>(value);
    if (std::isnan(value)) return 0;
    return value > 0 ? INT64_MAX : INT64_MIN;
  }
};

enum class Kind : uint8_t { integer, real, boolean, text, thread, stack };

// What the constants that a column named last became: most events name one of a few threads, stacks and classes.
class Recent {
 public:
  struct Entry {
    uint64_t index = 0;
    int32_t value = 0;
    bool is_known = false;
  };
  // The entry for a constant, known or not. What was known in another generation is forgotten.
  // `rows`: of the table so far; many have many stacks.
  Entry* of(uint64_t index, uint64_t generation, size_t rows) {
    if (generation_ != generation || (rows >= kMany && shift_ == kFewShift)) begin(generation, rows);
    Entry& entry = entries_[static_cast<size_t>((index * 0x9e3779b97f4a7c15ULL) >> shift_)];
    if (entry.index != index) entry = {index, 0, false};
    return &entry;
  }
  void forget() { generation_ = 0; }

 private:
  static constexpr unsigned kFewShift = 64 - 8, kManyShift = 64 - 12;
  static constexpr size_t kMany = 1 << 12;
  void begin(uint64_t generation, size_t rows) {
    shift_ = rows >= kMany ? kManyShift : kFewShift;
    entries_.assign(size_t{1} << (64 - shift_), {});
    generation_ = generation;
  }
  std::vector<Entry> entries_;
  unsigned shift_ = kFewShift;
  uint64_t generation_ = 0;
};

// A vector's elements as memory has them, until they are set: each is, before a column is handed out.
template <typename T>
struct Unset : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = Unset<U>;
  };
  template <typename U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename V>
  void construct(U* at, V&& value) {
    ::new (static_cast<void*>(at)) U(std::forward<V>(value));
  }
};
template <typename T>
using Values = std::vector<T, Unset<T>>;

struct Column {
  std::string name;
  Kind kind = Kind::integer;
  Unit unit = Unit::plain;
  // One of the three, by the kind; it has room for more rows than there are, until the table is handed out.
  Values<int64_t> ints;  // integers, kNoValue: none; booleans
  Values<double> reals;
  Values<int32_t> ids;  // of texts, threads and stacks; -1: none
  Recent recent;
};

struct EventTable {
  std::string event;  // jdk.ThreadPark
  std::vector<Column> columns;
  TextPool texts;
  size_t rows = 0;
  size_t room = 0;  // rows that the columns have room for
  size_t text_bytes = 0;
  size_t most_rows = 0;                             // that were taken at once so far
  std::vector<std::pair<size_t, uint64_t>> chunks;  // (row, number of the chunk that it and those behind it are of)
  size_t values() const { return rows * columns.size() + text_bytes / sizeof(int64_t); }
  // At first to as many rows as before: columns are handed out with their memory, and growing them anew copies each
  // twice.
  void grow();
  void resize(size_t to);
  void clear();
};

// The tables of a file, a batch of rows at a time.
class EventTables {
 public:
  // `wanted`: names of events; empty: all.
  explicit EventTables(std::unordered_set<std::string> wanted) : wanted_(std::move(wanted)) {}
  void begin_chunk(Layouts* layouts, ResolvedConstants* resolved, const Clock& clock);
  // Takes one event; `in` stands behind its type. False: its bytes can't be that event, and no row was added.
  bool add(int64_t type, Cursor in);
  size_t values() const { return values_; }
  // The table with the most in it, or nullptr; to be cleared with `taken` when its rows are used.
  EventTable* largest();
  void taken(EventTable* table);
  // Lets go of the texts that damaged events left in tables without rows.
  void drop_texts();

 private:
  // How a field's bytes become a value: what its step, its column and its unit say, told apart once per chunk.
  enum class Fill : uint8_t { byte, boolean, small, wide, time, span, scaled, real4, real8, constant, text };
  struct Field {
    Fill fill = Fill::byte;
    const Step* step = nullptr;
    Pool* pool = nullptr;  // of a constant's type; nullptr: the chunk has none
  };
  struct Plan {
    std::vector<Field> fields;
    EventTable* table = nullptr;  // nullptr: not wanted, or without room for its layout or its columns
    bool is_refused = false;
    const Column* setting_of = nullptr;  // of a setting: which event's, by its number in this chunk
  };
  Plan plan(int64_t type);
  const Plan& plan_of(int64_t type);
  static Fill fill_of(const Step& step, Kind kind);
  EventTable* table_for(const std::string& event, const Steps& steps);
  enum class Taken : uint8_t { yes, no, not_near };
  Taken add_near(const Plan& plan, const Cursor& in);
  bool add(const Plan& plan, Cursor in);
  void count_row(const Plan& plan, size_t text_bytes_before);
  void name_setting(const Plan& plan);
  [[gnu::always_inline]] void value(const Field& field, Cursor* in, EventTable* table, Column* column, size_t row);
  int32_t constant(const Field& field, uint64_t index, EventTable* table, Column* column);
  int32_t meaning(const Field& field, uint64_t index, EventTable* table, Kind kind);
  const std::string* text(const Step& step, Cursor* in);
  static int32_t keep(const std::string* found, EventTable* table);
  int64_t converted(int64_t value, Unit unit) const;

  std::unordered_set<std::string> wanted_;
  std::deque<EventTable> tables_;
  std::unordered_map<std::string, EventTable*> by_layout_;
  size_t layout_bytes_ = 0;
  std::unordered_map<int64_t, Plan> plans_;  // of this chunk
  struct Known {
    int64_t type = 0;
    const Plan* plan = nullptr;
  };
  std::array<Known, 64> near_{};  // those of plans_ that were asked for last: most events are of a few types
  Layouts* layouts_ = nullptr;
  ResolvedConstants* resolved_ = nullptr;
  Clock clock_;
  size_t values_ = 0;
  uint64_t generation_ = 0;  // chunks so far: each has its own constants
  Text scratch_;
  std::string rendered_;
};

}  // namespace headway::jfr
