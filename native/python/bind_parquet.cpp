// Writing Parquet for Python. store/column_writer.py is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "parquet/file.h"

namespace nb = nanobind;

namespace headway {
namespace {

using parquet::ColumnSpec;
using parquet::File;
using parquet::Values;

// As Python's own files fail.
[[noreturn]] void raise_os_error(const std::system_error& error, const std::string& path) {
  errno = error.code().value();
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw nb::python_error();
}

parquet::Type type_of(const std::string& name) {
  if (name == "INTEGER") return parquet::Type::int32;
  if (name == "BIGINT") return parquet::Type::int64;
  if (name == "DOUBLE") return parquet::Type::real;
  if (name == "BOOLEAN") return parquet::Type::boolean;
  if (name == "VARCHAR") return parquet::Type::text;
  throw nb::value_error(("no column can be a " + name).c_str());
}

template <typename T, typename Numpy = T>
bool take(nb::handle rows, size_t count, Values* out) {
  Input<Numpy> array;
  if (!nb::try_cast(rows, array, false)) return false;
  if (array.shape(0) != count) throw nb::value_error("columns of different length");
  out->rows = std::span<const T>(reinterpret_cast<const T*>(array.data()), count);
  return true;
}

// The lists of texts of one write: columns share them.
using Texts = std::map<PyObject*, std::shared_ptr<const std::vector<std::string>>>;

// (rows, below, texts): rows are an array, or the one value that all have; below is None where nothing is null.
Values values_of(nb::handle given, size_t count, Texts* texts) {
  const auto column = nb::cast<nb::tuple>(given);
  const nb::handle rows = column[0];
  Values out;
  if (!column[1].is_none()) out.below = nb::cast<int64_t>(column[1]);
  if (!column[2].is_none()) {
    auto& known = (*texts)[nb::handle(column[2]).ptr()];
    if (known == nullptr) {
      known = std::make_shared<const std::vector<std::string>>(nb::cast<std::vector<std::string>>(column[2]));
    }
    out.texts = known;
  }
  if (rows.is_none()) {
    out.rows = parquet::Null{};
  } else if (nb::isinstance<nb::int_>(rows)) {  // True and False are
    out.rows = parquet::Same{nb::cast<int64_t>(rows)};
  } else if (!take<int32_t>(rows, count, &out) && !take<int64_t>(rows, count, &out) &&
             !take<double>(rows, count, &out) && !take<uint8_t, bool>(rows, count, &out)) {
    throw nb::type_error("a column is an array of int32, int64, float64 or bool, a number, or None");
  }
  return out;
}

class PythonFile {
 public:
  PythonFile(int fd, std::string path, const std::vector<std::tuple<std::string, std::string, bool, bool>>& columns,
             nb::object compress, nb::object checksum)
      : path_(std::move(path)) {
    std::vector<ColumnSpec> specs;
    specs.reserve(columns.size());
    for (const auto& [name, type, is_nullable, is_compressed] : columns) {
      specs.push_back({name, type_of(type), is_nullable, is_compressed});
    }
    const auto zstd = [compress = std::move(compress)](const parquet::Bytes& plain) {
      const auto packed = nb::cast<nb::bytes>(compress(nb::bytes(plain.data(), plain.size())));
      const auto* at = static_cast<const uint8_t*>(packed.data());
      return parquet::Bytes(at, at + packed.size());
    };
    const auto crc32 = [checksum = std::move(checksum)](const parquet::Bytes& body) {
      return nb::cast<uint32_t>(checksum(nb::bytes(body.data(), body.size())));
    };
    guarded([&] { file_ = std::make_unique<File>(fd, std::move(specs), zstd, crc32); });
  }
  void write(size_t rows, const nb::list& columns) {
    std::vector<Values> values;
    values.reserve(columns.size());
    Texts texts;
    for (const nb::handle each : columns) values.push_back(values_of(each, rows, &texts));
    guarded([&] { file_->write(rows, values); });
  }
  void close() {
    guarded([&] { file_->close(); });
  }

 private:
  template <typename Do>
  void guarded(Do action) {
    try {
      action();
    } catch (const std::system_error& error) {
      raise_os_error(error, path_);
    }
  }
  std::string path_;
  std::unique_ptr<File> file_;
};

}  // namespace

void bind_parquet(nb::module_& m) {
  nb::class_<PythonFile>(m, "ParquetFile", "Writes a table as Parquet; see native/parquet/file.h.")
      .def(nb::init<int, std::string, std::vector<std::tuple<std::string, std::string, bool, bool>>, nb::object,
                    nb::object>(),
           nb::arg("fd"), nb::arg("path"), nb::arg("columns"), nb::arg("compress"), nb::arg("checksum"))
      .def("write", &PythonFile::write, "Rows, and (rows, below, texts) of each column.")
      .def("close", &PythonFile::close, "Writes the end.");
}

}  // namespace headway
