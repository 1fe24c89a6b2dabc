// Columns between C++ and NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace headway {

namespace nb = nanobind;

// Hands a vector's memory to NumPy without copying it.
template <typename T, typename A>
nb::object array(std::vector<T, A>&& values) {
  auto* owned = new std::vector<T, A>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T, A>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

template <typename Rows, typename Get>
auto column(const Rows& rows, Get get) {
  std::vector<std::decay_t<decltype(get(*rows.begin()))>> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(get(row));
  return array(std::move(values));
}

// Names are bytes: nobody promises that they are UTF-8.
inline nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::vector<T> vector_of(const Input<T>& values) {
  return {values.data(), values.data() + values.shape(0)};
}

// A column's values, of which there must be `rows`. Raises ValueError.
template <typename T>
const T* checked(const Input<T>& values, size_t rows) {
  if (values.shape(0) != rows) throw nb::value_error("columns of different length");
  return values.data();
}

}  // namespace headway
