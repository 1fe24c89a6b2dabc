#include "jfr/event_tables.h"

#include <algorithm>

namespace headway::jfr {
namespace {

constexpr size_t kLeastRoom = 4;               // rows: a damaged file may lay out any number of tables
constexpr size_t kMostLayoutBytes = 32 << 20;  // of all tables
// Those of JDK 25 are 200. All are looked through for the largest, and each has its part of the rows that wait: with
// tens of thousands each batch is a few rows.
constexpr size_t kMostTables = 4096;
constexpr size_t kColumnBytes = 256;  // with room for its first rows
constexpr size_t kFewRows = 16;       // too few to remember anything of their constants
// Settings tell their event by a number that is another one in chunks of another JVM: they get its name as a column.
constexpr const char *kSetting = "jdk.ActiveSetting", *kSettingId = "id", *kSettingOf = "event";

int64_t times(int64_t value, int64_t factor) {
  if (value > INT64_MAX / factor) return INT64_MAX;
  if (value < INT64_MIN / factor) return kNoValue;
  return value * factor;
}

Kind kind_of(const Step& step, const Metadata& types) {
  switch (step.op) {
    case Op::boolean:
      return Kind::boolean;
    case Op::byte:
    case Op::integer:
      return Kind::integer;
    case Op::real4:
    case Op::real8:
      return Kind::real;
    case Op::constant: {
      const Type* type = types.find(step.type);
      if (type != nullptr && type->name == "java.lang.Thread") return Kind::thread;
      if (type != nullptr && type->name == "jdk.types.StackTrace") return Kind::stack;
      return Kind::text;
    }
    default:
      return Kind::text;
  }
}

}  // namespace

void EventTable::resize(size_t to) {
  for (Column& column : columns) {
    if (column.kind == Kind::real) {
      column.reals.resize(to);
    } else if (column.kind == Kind::integer || column.kind == Kind::boolean) {
      column.ints.resize(to);
    } else {
      column.ids.resize(to);
    }
  }
  room = to;
}

void EventTable::grow() { resize(std::max({room * 2, most_rows, kLeastRoom})); }

void EventTable::clear() {
  most_rows = std::max(most_rows, rows);
  for (Column& column : columns) {
    column.ints.clear();
    column.reals.clear();
    column.ids.clear();
    column.recent.forget();
  }
  texts = TextPool();
  chunks.clear();
  rows = 0;
  room = 0;
  text_bytes = 0;
}

void EventTables::begin_chunk(Layouts* layouts, ResolvedConstants* resolved, const Clock& clock) {
  layouts_ = layouts;
  resolved_ = resolved;
  clock_ = clock;
  plans_.clear();
  near_.fill({});
  ++generation_;
}

EventTables::Plan EventTables::plan(int64_t type) {
  Plan plan;
  const Type* known = layouts_->types().find(type);
  if (known == nullptr || (!wanted_.empty() && !wanted_.contains(known->name))) return plan;
  const Steps* steps = layouts_->of(type);
  plan.is_refused = steps == nullptr && layouts_->is_full();
  if (steps == nullptr) return plan;
  plan.table = table_for(known->name, *steps);
  plan.is_refused = plan.table == nullptr;
  if (plan.is_refused) return plan;
  for (size_t i = 0; i < steps->size(); ++i) {
    const Step& step = (*steps)[i];
    Pool* pool = step.op == Op::constant ? resolved_->pool(step.type) : nullptr;
    plan.fields.push_back({fill_of(step, plan.table->columns[i].kind), &step, pool});
    const bool is_id = step.name == kSettingId && plan.table->columns[i].kind == Kind::integer;
    if (is_id && plan.table->columns.size() > steps->size()) plan.setting_of = &plan.table->columns[i];
  }
  return plan;
}

EventTables::Fill EventTables::fill_of(const Step& step, Kind kind) {
  if (step.op == Op::constant) return Fill::constant;
  if (kind == Kind::boolean) return Fill::boolean;
  if (kind == Kind::real) return step.op == Op::real4 ? Fill::real4 : Fill::real8;
  if (kind == Kind::text) return Fill::text;
  if (step.unit != Unit::plain && step.op == Op::byte) return Fill::scaled;
  if (step.unit == Unit::tick_time) return Fill::time;
  if (step.unit == Unit::tick_span) return Fill::span;
  if (step.unit != Unit::plain) return Fill::scaled;
  if (step.op == Op::byte) return Fill::byte;
  return step.bytes == 8 ? Fill::wide : Fill::small;
}

// Chunks of one program lay an event out alike; where one does not, its rows are a table of their own. Names are
// whatever the file has for them, so their lengths keep them apart. nullptr: the chunks of the file lay out more than any
// program has.
EventTable* EventTables::table_for(const std::string& event, const Steps& steps) {
  std::string layout = std::to_string(event.size()) + ':' + event;
  for (const Step& step : steps) {
    layout += std::to_string(step.name.size()) + ':' + step.name;
    layout += static_cast<char>('a' + static_cast<int>(kind_of(step, layouts_->types())));
  }
  const size_t bytes = layout.size() + steps.size() * kColumnBytes;
  const bool has_room = bytes <= kMostLayoutBytes - layout_bytes_ && tables_.size() < kMostTables;
  if (!has_room && !by_layout_.contains(layout)) return nullptr;
  EventTable*& table = by_layout_[layout];
  if (table == nullptr) {
    layout_bytes_ += bytes;
    table = &tables_.emplace_back();
    table->event = event;
    for (const Step& step : steps) {
      Column& column = table->columns.emplace_back();
      column.name = step.name;
      column.kind = kind_of(step, layouts_->types());
      column.unit = step.unit;
    }
    const auto is_named = [](const Step& step) { return step.name == kSettingOf; };
    if (event == kSetting && std::none_of(steps.begin(), steps.end(), is_named)) {
      Column& column = table->columns.emplace_back();
      column.name = kSettingOf;
      column.kind = Kind::text;
    }
  }
  return table;
}

const EventTables::Plan& EventTables::plan_of(int64_t type) {
  Known& known = near_[static_cast<uint64_t>(type) % near_.size()];
  if (known.plan != nullptr && type == known.type) return *known.plan;
  auto found = plans_.find(type);
  if (found == plans_.end()) {
    static const Plan kUnknown;
    if (layouts_->types().find(type) == nullptr) return kUnknown;  // there may be any number of such
    found = plans_.emplace(type, plan(type)).first;
  }
  known = {type, &found->second};
  return found->second;
}

bool EventTables::add(int64_t type, Cursor in) {
  const Plan& plan = plan_of(type);
  EventTable* table = plan.table;
  if (table == nullptr) return !plan.is_refused;
  if (table->rows == table->room) table->grow();
  const size_t before = table->text_bytes;
  const Taken taken = add_near(plan, in);
  if (taken == Taken::not_near ? add(plan, in) : taken == Taken::yes) return true;
  values_ += table->text_bytes / sizeof(int64_t) - before / sizeof(int64_t);  // the texts of a row that was not added
  return false;
}

// As `add`, of an event with compressed integers that lies so far from the end of what is in memory that each of them
// can be loaded as if it were the longest. What lies behind the event's end is seen before it is used.
EventTables::Taken EventTables::add_near(const Plan& plan, const Cursor& in) {
  const uint8_t *at = in.at(), *end = at + in.left(), *readable = in.readable();
  if (!in.compressed() || static_cast<size_t>(readable - end) < Cursor::kLongest) return Taken::not_near;
  EventTable* table = plan.table;
  const size_t before = table->text_bytes, row = table->rows;
  Column* column = table->columns.data();
  for (const Field& field : plan.fields) {
    if (at >= end) return Taken::no;
    switch (field.fill) {
      case Fill::wide:
        column->ints[row] = static_cast<int64_t>(Cursor::varint_at(&at));
        break;
      case Fill::time:
        column->ints[row] = converted(signed_value(Cursor::varint_at(&at), *field.step), Unit::tick_time);
        break;
      case Fill::span:
        column->ints[row] = converted(signed_value(Cursor::varint_at(&at), *field.step), Unit::tick_span);
        break;
      case Fill::constant: {
        const uint64_t index = Cursor::varint_at(&at);
        if (at > end) return Taken::no;
        column->ids[row] = constant(field, index, table, column);
        break;
      }
      default: {
        Cursor rest(at, end, true, readable);
        value(field, &rest, table, column, row);
        if (!rest.ok()) return Taken::no;
        at = rest.at();
      }
    }
    ++column;
  }
  if (at > end) return Taken::no;
  count_row(plan, before);
  return Taken::yes;
}

void EventTables::count_row(const Plan& plan, size_t text_bytes_before) {
  EventTable* table = plan.table;
  if (table->columns.size() > plan.fields.size()) name_setting(plan);
  if (table->chunks.empty() || table->chunks.back().second != generation_) {
    table->chunks.emplace_back(table->rows, generation_);
  }
  ++table->rows;
  values_ += table->columns.size() + table->text_bytes / sizeof(int64_t) - text_bytes_before / sizeof(int64_t);
}

void EventTables::name_setting(const Plan& plan) {
  EventTable* table = plan.table;
  const Type* type = plan.setting_of == nullptr ? nullptr : layouts_->types().find(plan.setting_of->ints[table->rows]);
  table->columns.back().ids[table->rows] = keep(type == nullptr ? nullptr : &type->name, table);
}

inline int64_t EventTables::converted(int64_t value, Unit unit) const {
  if (value == INT64_MIN) return kNoValue;  // the JDK's word for "none"
  switch (unit) {
    case Unit::tick_time:
      return clock_.time_ns(value);
    case Unit::tick_span:
      return clock_.span_ns(value);
    case Unit::us_span:
      return times(value, 1'000);
    case Unit::ms_span:
    case Unit::ms_time:
      return times(value, 1'000'000);
    case Unit::s_span:
      return times(value, 1'000'000'000);
    default:
      return value;
  }
}

inline void EventTables::value(const Field& field, Cursor* in, EventTable* table, Column* column, size_t row) {
  const Step& step = *field.step;
  switch (field.fill) {
    case Fill::wide:
      column->ints[row] = static_cast<int64_t>(in->integer(8));
      return;
    case Fill::small:
      column->ints[row] = signed_value(in->integer(step.bytes), step);
      return;
    case Fill::byte:
      column->ints[row] = signed_value(in->byte(), step);
      return;
    case Fill::boolean:
      column->ints[row] = in->byte() != 0 ? 1 : 0;
      return;
    case Fill::time:
    case Fill::span:
    case Fill::scaled: {
      const uint64_t raw = step.op == Op::byte ? in->byte() : in->integer(step.bytes);
      column->ints[row] = converted(signed_value(raw, step), step.unit);
      return;
    }
    case Fill::real4:
      column->reals[row] = static_cast<double>(in->real4());
      return;
    case Fill::real8:
      column->reals[row] = in->real8();
      return;
    case Fill::constant:
      column->ids[row] = constant(field, in->integer(8), table, column);
      return;
    case Fill::text:
      column->ids[row] = keep(text(step, in), table);
      return;
  }
}

bool EventTables::add(const Plan& plan, Cursor in) {
  EventTable* table = plan.table;
  const size_t before = table->text_bytes;
  Column* column = table->columns.data();
  for (const Field& field : plan.fields) value(field, &in, table, column++, table->rows);
  if (!in.ok()) return false;  // the next event takes its place
  count_row(plan, before);
  return true;
}

// A thread, a stack or a text of the chunk's constants.
int32_t EventTables::constant(const Field& field, uint64_t index, EventTable* table, Column* column) {
  if (table->rows < kFewRows) return meaning(field, index, table, column->kind);
  Recent::Entry* known = column->recent.of(index, generation_, table->rows);
  if (!known->is_known) *known = {index, meaning(field, index, table, column->kind), true};
  return known->value;
}

int32_t EventTables::meaning(const Field& field, uint64_t index, EventTable* table, Kind kind) {
  Constant* constant = field.pool == nullptr ? nullptr : field.pool->find(index);
  if (kind == Kind::thread) return resolved_->thread(field.step->type, constant);
  if (kind == Kind::stack) return resolved_->stack(field.step->type, constant);
  return keep(constant == nullptr ? nullptr : resolved_->text(field.step->type, index), table);
}

const std::string* EventTables::text(const Step& step, Cursor* in) {
  if (step.op != Op::text) {
    rendered_.clear();
    resolved_->render(step, in, &rendered_);
    return &rendered_;
  }
  in->text(&scratch_);
  if (scratch_.form == Text::Form::value) return &scratch_.value;
  return scratch_.form == Text::Form::constant ? resolved_->string(scratch_.constant) : nullptr;
}

int32_t EventTables::keep(const std::string* found, EventTable* table) {
  if (found == nullptr) return -1;
  const size_t before = table->texts.texts().size();
  const auto id = static_cast<int32_t>(table->texts.add(*found));
  if (table->texts.texts().size() != before) table->text_bytes += found->size() + 64;
  return id;
}

EventTable* EventTables::largest() {
  EventTable* found = nullptr;
  for (EventTable& table : tables_) {
    if (table.rows > 0 && (found == nullptr || found->values() < table.values())) found = &table;
  }
  return found;
}

void EventTables::drop_texts() {
  for (EventTable& table : tables_) {
    if (table.rows == 0 && table.text_bytes > 0) taken(&table);
  }
}

void EventTables::taken(EventTable* table) {
  values_ -= std::min(values_, table->values());
  table->clear();
}

}  // namespace headway::jfr
