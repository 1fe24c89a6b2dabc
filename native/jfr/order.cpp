#include "jfr/order.h"

#include <algorithm>
#include <bit>

namespace headway::jfr {
namespace {

constexpr size_t kRowsOfBucket = 8;
constexpr std::ptrdiff_t kFew = 32;  // rows that are put in order one by one

using Place = std::vector<int64_t>::iterator;

void put_in_order(Place begin, Place end, std::span<const int64_t> keys) {
  const auto key = [&](int64_t place) { return keys[static_cast<size_t>(place)]; };
  if (end - begin > kFew) {
    std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return key(a) < key(b); });
    return;
  }
  for (Place at = begin; at < end; ++at) {
    const int64_t place = *at;
    Place to = at;
    for (; to > begin && key(place) < key(*(to - 1)); --to) *to = *(to - 1);
    *to = place;
  }
}

}  // namespace

// Events of several threads and kinds lie between each other, nearly in order: rows go into small buckets of time
// first, which touches memory from front to back, and only rows of the same bucket are compared.
std::vector<int64_t> order_of(std::span<const int64_t> keys) {
  std::vector<int64_t> order(keys.size());
  if (keys.empty()) return order;
  const auto [least, most] = std::minmax_element(keys.begin(), keys.end());
  const auto base = static_cast<uint64_t>(*least);
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(*most) - base));
  const auto bucket_bits = std::max(1U, static_cast<unsigned>(std::bit_width(keys.size() / kRowsOfBucket)));
  const unsigned shift = bits > bucket_bits ? bits - bucket_bits : 0;
  const auto bucket = [&](int64_t key) { return static_cast<size_t>((static_cast<uint64_t>(key) - base) >> shift); };
  std::vector<size_t> ends(bucket(*most) + 2);
  for (const int64_t key : keys) ++ends[bucket(key) + 1];
  for (size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];  // where each begins; its end once it is filled
  for (size_t i = 0; i < keys.size(); ++i) order[ends[bucket(keys[i])]++] = static_cast<int64_t>(i);
  size_t begin = 0;
  for (const size_t end : ends) {
    put_in_order(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end),
                 keys);
    begin = end;
  }
  return order;
}

}  // namespace headway::jfr
