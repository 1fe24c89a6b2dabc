#include "jfr/event_tables.h"

#include <algorithm>
#include <cmath>

namespace headway::jfr {
namespace {

int64_t whole(double value) {  // as Java casts: without leaving the range
  if (std::isnan(value)) return 0;
  if (value >= 9.2233720368547748e18) return INT64_MAX;
  if (value <= -9.2233720368547748e18) return INT64_MIN;
  return static_cast<int64_t>(value);
}

int64_t sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

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

int64_t Clock::time_ns(int64_t ticks) const {
  const auto since = static_cast<int64_t>(static_cast<uint64_t>(ticks) - static_cast<uint64_t>(start_ticks));
  return sum(base_ns, whole(static_cast<double>(since) / ticks_per_ns));
}

int64_t Clock::span_ns(int64_t ticks) const { return whole(static_cast<double>(ticks) / ticks_per_ns); }

void EventTable::reserve() {
  for (Column& column : columns) {
    if (column.kind == Kind::real) {
      column.reals.reserve(most_rows);
    } else {
      column.ints.reserve(most_rows);
    }
  }
}

void EventTable::clear() {
  most_rows = std::max(most_rows, rows);
  for (Column& column : columns) {
    column.ints.clear();
    column.reals.clear();
    column.recent.forget();
  }
  texts = TextPool();
  rows = 0;
  text_bytes = 0;
}

void EventTables::begin_chunk(Layouts* layouts, Meanings* meanings, const Clock& clock) {
  layouts_ = layouts;
  meanings_ = meanings;
  clock_ = clock;
  plans_.clear();
  last_ = nullptr;
  ++generation_;
}

EventTables::Plan EventTables::plan(int64_t type) {
  Plan plan;
  const Type* known = layouts_->types().find(type);
  if (known == nullptr || (!wanted_.empty() && !wanted_.contains(known->name))) return plan;
  plan.steps = layouts_->of(type);
  if (plan.steps != nullptr) plan.table = table_for(known->name, *plan.steps);
  return plan;
}

// Chunks of one program lay an event out alike; where one does not, its rows are a table of their own.
EventTable* EventTables::table_for(const std::string& event, const Steps& steps) {
  std::string layout = event;
  for (const Step& step : steps) {
    layout += '\n' + step.name + static_cast<char>('a' + static_cast<int>(kind_of(step, layouts_->types())));
  }
  EventTable*& table = by_layout_[layout];
  if (table == nullptr) {
    table = &tables_.emplace_back();
    table->event = event;
    for (const Step& step : steps) {
      Column& column = table->columns.emplace_back();
      column.name = step.name;
      column.kind = kind_of(step, layouts_->types());
      column.unit = step.unit;
    }
  }
  return table;
}

bool EventTables::add(int64_t type, Cursor in) {
  if (last_ == nullptr || type != last_type_) {
    auto found = plans_.find(type);
    if (found == plans_.end()) found = plans_.emplace(type, plan(type)).first;
    last_ = &found->second;
    last_type_ = type;
  }
  EventTable* table = last_->table;
  if (table == nullptr) return true;
  const Steps& steps = *last_->steps;
  if (table->rows == 0) table->reserve();
  const size_t before = table->text_bytes / sizeof(int64_t);
  for (size_t i = 0; i < steps.size(); ++i) value(steps[i], &in, table, &table->columns[i]);
  if (!in.ok()) {
    for (Column& column : table->columns) {
      column.ints.resize(std::min(column.ints.size(), table->rows));
      column.reals.resize(std::min(column.reals.size(), table->rows));
    }
    return false;
  }
  ++table->rows;
  values_ += steps.size() + table->text_bytes / sizeof(int64_t) - before;
  return true;
}

void EventTables::value(const Step& step, Cursor* in, EventTable* table, Column* column) {
  switch (column->kind) {
    case Kind::integer: {
      const uint64_t raw = step.op == Op::byte ? in->byte() : in->integer(step.bytes);
      const int64_t number = signed_value(raw, step);
      column->ints.push_back(step.unit == Unit::plain ? number : converted(number, step.unit));
      return;
    }
    case Kind::boolean:
      column->ints.push_back(in->byte() != 0 ? 1 : 0);
      return;
    case Kind::real:
      column->reals.push_back(step.op == Op::real4 ? static_cast<double>(in->real4()) : in->real8());
      return;
    case Kind::thread:
    case Kind::stack:
      column->ints.push_back(constant(step, in->integer(8), table, column));
      return;
    case Kind::text:
      if (step.op == Op::constant) {
        column->ints.push_back(constant(step, in->integer(8), table, column));
      } else {
        column->ints.push_back(keep(text(step, in), table));
      }
      return;
  }
}

// A thread, a stack or a text of the chunk's constants.
int64_t EventTables::constant(const Step& step, uint64_t index, EventTable* table, Column* column) {
  Recent::Entry* known = column->recent.of(index, generation_);
  if (known->is_known) return known->value;
  if (column->kind == Kind::thread) {
    known->value = meanings_->thread(step.type, index);
  } else if (column->kind == Kind::stack) {
    known->value = meanings_->stack(step.type, index);
  } else {
    known->value = keep(meanings_->text(step.type, index), table);
  }
  known->is_known = true;
  return known->value;
}

const std::string* EventTables::text(const Step& step, Cursor* in) {
  if (step.op != Op::text) {
    rendered_.clear();
    meanings_->render(step, in, &rendered_);
    return &rendered_;
  }
  in->text(&scratch_);
  if (scratch_.form == Text::Form::value) return &scratch_.value;
  return scratch_.form == Text::Form::constant ? meanings_->string(scratch_.constant) : nullptr;
}

int64_t EventTables::keep(const std::string* found, EventTable* table) {
  if (found == nullptr) return -1;
  const size_t before = table->texts.texts().size();
  const int64_t id = table->texts.add(*found);
  if (table->texts.texts().size() != before) table->text_bytes += found->size() + 64;
  return id;
}

int64_t EventTables::converted(int64_t value, Unit unit) const {
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

EventTable* EventTables::largest() {
  const auto found = std::max_element(tables_.begin(), tables_.end(),
                                      [](const EventTable& a, const EventTable& b) { return a.values() < b.values(); });
  return found == tables_.end() || found->rows == 0 ? nullptr : &*found;
}

void EventTables::taken(EventTable* table) {
  values_ -= std::min(values_, table->values());
  table->clear();
}

}  // namespace headway::jfr
