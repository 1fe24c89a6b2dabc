// The order of rows by one of their columns, as an index: nothing is moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway::jfr {

// Places of the keys from the least to the most; equal ones stay as they were.
std::vector<int64_t> order_of(std::span<const int64_t> keys);

}  // namespace headway::jfr
