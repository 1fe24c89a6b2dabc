// The reader of JFR files for Python, a table of columns at a time. record/jfr/reader.py is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "jfr/order.h"
#include "jfr/reader.h"
#include "jfr/wait_objects.h"

namespace nb = nanobind;

namespace headway {
namespace {

using jfr::ChunkInfo;
using jfr::Column;
using jfr::EventTable;
using jfr::FrameRow;
using jfr::Kind;
using jfr::Reader;
using jfr::ThreadRow;

nb::list texts_of(const TextPool& pool) {
  nb::list out;
  for (const std::string& text : pool.texts()) out.append(bytes_of(text));
  return out;
}

// Takes them out of the column.
nb::object values_of(Column* column) {
  switch (column->kind) {
    case Kind::real:
      return array(std::exchange(column->reals, {}));
    case Kind::integer:
    case Kind::boolean:
      return array(std::exchange(column->ints, {}));
    default:
      return array(std::exchange(column->ids, {}));
  }
}

nb::object next_or_none(Reader& reader) {
  EventTable* table = nullptr;
  {
    nb::gil_scoped_release unlocked;
    table = reader.next();
  }
  if (table == nullptr) return nb::none();
  nb::list columns;
  for (Column& column : table->columns) {
    const auto kind = static_cast<int>(column.kind);
    columns.append(nb::make_tuple(column.name, kind, static_cast<int>(column.unit), values_of(&column)));
  }
  nb::list chunks;
  for (const auto& [row, chunk] : table->chunks) chunks.append(nb::make_tuple(row, chunk));
  return nb::make_tuple(table->event, table->rows, columns, texts_of(table->texts), chunks);
}

nb::dict stacks(Reader& reader) {
  jfr::StackRows rows = reader.interned().take_stacks();
  nb::dict out;
  out["stack_id"] = array(std::move(rows.stack_id));
  out["depth"] = array(std::move(rows.depth));
  out["frame_id"] = array(std::move(rows.frame_id));
  out["is_cut"] = array(std::move(rows.is_cut));
  return out;
}

nb::dict frames(Reader& reader) {
  const std::vector<FrameRow>& rows = reader.interned().frames();
  nb::dict out;
  out["texts"] = texts_of(reader.interned().texts());
  out["class_name"] = column(rows, [](const FrameRow& f) { return f.class_name; });
  out["method"] = column(rows, [](const FrameRow& f) { return f.method; });
  out["line"] = column(rows, [](const FrameRow& f) { return f.line; });
  out["kind"] = column(rows, [](const FrameRow& f) { return f.kind; });
  return out;
}

nb::list threads(Reader& reader, size_t first, size_t most) {
  nb::list out;
  const std::vector<ThreadRow>& rows = reader.interned().threads();
  for (size_t i = first; i < rows.size() && i - first < most; ++i) {
    const ThreadRow& row = rows[i];
    out.append(nb::make_tuple(row.os_tid, row.java_id, bytes_of(row.os_name), bytes_of(row.java_name),
                              bytes_of(row.group), row.is_virtual));
  }
  return out;
}

nb::list chunks(const Reader& reader) {
  nb::list out;
  for (const ChunkInfo& chunk : reader.chunks()) {
    nb::dict one;
    one["offset"] = chunk.offset;
    one["size"] = chunk.size;
    one["version"] = std::to_string(chunk.major) + "." + std::to_string(chunk.minor);
    one["start_ns"] = chunk.start_ns;
    one["dur_ns"] = chunk.dur_ns;
    one["start_ticks"] = chunk.start_ticks;
    one["ticks_per_second"] = chunk.ticks_per_second;
    one["base_ns"] = chunk.base_ns;
    one["events"] = chunk.events;
    one["is_cut"] = chunk.is_cut;
    out.append(one);
  }
  return out;
}

nb::list problems(const Reader& reader) {
  nb::list out;
  for (const jfr::Problem& each : reader.problems()) out.append(nb::make_tuple(each.offset, each.text));
  return out;
}

void make(Reader* self, const std::string& path, const std::vector<std::string>& wanted, int times,
          size_t most_chunks) {
  if (times < 0 || times > static_cast<int>(jfr::Times::ticks)) throw nb::value_error("no such times");
  new (self) Reader(path, {wanted.begin(), wanted.end()}, static_cast<jfr::Times>(times), most_chunks);
}

using Numbers = Input<int64_t>;

using Ids = Input<int32_t>;

template <typename T>
std::span<const T> rows_of(const Input<T>& column, size_t rows) {
  if (column.shape(0) != rows) throw nb::value_error("columns of different length");
  return {column.data(), rows};
}

nb::object add_waits(jfr::WaitObjects& self, int32_t kind, const Numbers& class_name, const Numbers& address,
                     const Ids& thread, const Ids& stack, const Numbers& start_ns, const Numbers& dur_ns) {
  const size_t rows = address.shape(0);
  return array(self.add(kind, {rows_of(class_name, rows), rows_of(address, rows), rows_of(thread, rows),
                               rows_of(stack, rows), rows_of(start_ns, rows), rows_of(dur_ns, rows)}));
}

void levels(jfr::WaitObjects& self, const Ids& object, const Numbers& start_ns, const Numbers& dur_ns) {
  const size_t rows = object.shape(0);
  self.levels({object.data(), rows}, rows_of(start_ns, rows), rows_of(dur_ns, rows));
}

nb::dict wait_objects(const jfr::WaitObjects& self) {
  using jfr::WaitObject;
  const std::vector<WaitObject>& rows = self.objects();
  nb::dict out;
  out["kind"] = column(rows, [](const WaitObject& o) { return o.kind; });
  out["class_name"] = column(rows, [](const WaitObject& o) { return o.class_name; });
  out["address"] = column(rows, [](const WaitObject& o) { return o.address; });
  out["first_ns"] = column(rows, [](const WaitObject& o) { return o.first_ns; });
  out["last_ns"] = column(rows, [](const WaitObject& o) { return o.last_ns; });
  out["first_thread"] = column(rows, [](const WaitObject& o) { return o.first_thread; });
  out["first_stack"] = column(rows, [](const WaitObject& o) { return o.first_stack; });
  out["times"] = column(rows, [](const WaitObject& o) { return o.times; });
  out["thread_time_ns"] = column(rows, [](const WaitObject& o) { return o.thread_time_ns; });
  out["peak"] = column(rows, [](const WaitObject& o) { return o.peak; });
  out["real_time_ns"] = column(rows, [](const WaitObject& o) { return o.real_time_ns; });
  return out;
}

}  // namespace

void bind_jfr(nb::module_& m) {
  m.def(
      "order_of",
      [](const Numbers& keys) {
        return array(jfr::order_of({keys.data(), keys.shape(0)}));
      },
      "Places of the numbers from the least to the most; equal ones stay as they were.");
  nb::class_<Reader>(m, "JfrReader", "Reads a JFR file as tables of events; see native/jfr/reader.h.")
      .def("__init__", &make, nb::arg("path"), nb::arg("wanted"), nb::arg("times"), nb::arg("most_chunks") = size_t{0})
      .def("next", &next_or_none,
           "(event, rows, [(column, kind, unit, values)], texts, [(first row, chunk)]), or None at the end.")
      .def("stacks", &stacks, "Frames of the stacks that are new since the last call.")
      .def("frames", &frames, "Every frame so far.")
      .def("threads", &threads, nb::arg("first"), nb::arg("most"),
           "So many threads from the first one on: (os tid, java id, os name, java name, group, is virtual).")
      .def("chunks", &chunks, "What the headers of the chunks so far say.")
      .def("problems", &problems, "The first problems: (offset, what).")
      .def_prop_ro("problem_count", &Reader::problem_count)
      .def_prop_ro("refused", &Reader::refused)
      .def_prop_ro("newer", &Reader::newer)
      .def_prop_ro("position", &Reader::position)
      .def_prop_ro("size", &Reader::size);
  nb::class_<jfr::WaitObjects>(m, "WaitObjects", "What threads of a file waited for; see native/jfr/wait_objects.h.")
      .def(nb::init<size_t, size_t>(), nb::arg("most_open") = jfr::WaitObjects::kMostOpen,
           nb::arg("most_objects") = jfr::WaitObjects::kMostObjects)
      .def("add", &add_waits, "Takes waits of one kind; returns the numbers of their objects.")
      .def("levels", &levels, "Waits (object, start_ns, dur_ns) in order of start, in batches.")
      .def("end_levels", &jfr::WaitObjects::end_levels, "All were given to levels.")
      .def_prop_ro("not_followed", &jfr::WaitObjects::not_followed)
      .def_prop_ro("not_told_apart", &jfr::WaitObjects::not_told_apart)
      .def("objects", &wait_objects, "Every object so far, as columns.");
}

}  // namespace headway
