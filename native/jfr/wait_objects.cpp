#include "jfr/wait_objects.h"

#include <algorithm>

namespace headway::jfr {
namespace {

// Times of a damaged file can be anything: sums go round instead of being undefined.
int64_t sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace

size_t WaitObjects::Hash::operator()(const Key& key) const {
  uint64_t h = static_cast<uint64_t>(key.address) * 0x9e3779b97f4a7c15ULL;
  h = (h ^ (h >> 32) ^ static_cast<uint64_t>(key.class_name)) * 0xff51afd7ed558ccdULL;
  return static_cast<size_t>((h ^ (h >> 29) ^ static_cast<uint64_t>(key.kind)) * 0xc4ceb9fe1a85ec53ULL >> 7);
}

std::vector<int32_t> WaitObjects::add(int32_t kind, const WaitColumns& waits) {
  std::vector<int32_t> numbers(waits.address.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Key key{kind, waits.class_name[i], waits.address[i]};
    const int64_t start_ns = waits.start_ns[i], end_ns = sum(start_ns, waits.dur_ns[i]);
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<int32_t>(objects_.size()));
    if (is_new) {
      WaitObject& object = objects_.emplace_back();
      object.kind = kind;
      object.class_name = key.class_name;
      object.address = key.address;
    }
    WaitObject& object = objects_[static_cast<size_t>(found->second)];
    if (is_new || start_ns < object.first_ns) {
      object.first_ns = start_ns;
      object.first_thread = waits.thread[i];
      object.first_stack = waits.stack[i];
    }
    object.last_ns = is_new ? end_ns : std::max(object.last_ns, end_ns);
    object.times += 1;
    object.thread_time_ns = sum(object.thread_time_ns, waits.dur_ns[i]);
    numbers[i] = found->second;
  }
  return numbers;
}

void WaitObjects::change(int32_t object, int64_t ns, int64_t by) {
  if (object < 0 || static_cast<size_t>(object) >= objects_.size()) return;
  WaitObject& at = objects_[static_cast<size_t>(object)];
  if (at.waiting > 0) at.real_time_ns = sum(at.real_time_ns, difference(ns, at.changed_ns));
  at.waiting += by;
  at.changed_ns = ns;
  at.peak = std::max(at.peak, at.waiting);
}

// At the same moment who leaves comes first: the number is then never above what it is before, or after, that moment.
void WaitObjects::levels(std::span<const int32_t> object, std::span<const int64_t> start_ns,
                         std::span<const int64_t> dur_ns) {
  std::vector<std::pair<int64_t, int32_t>> ends(object.size());
  for (size_t i = 0; i < ends.size(); ++i) ends[i] = {sum(start_ns[i], dur_ns[i]), object[i]};
  std::sort(ends.begin(), ends.end());
  auto end = ends.begin();
  for (size_t i = 0; i < object.size(); ++i) {
    for (; end != ends.end() && end->first <= start_ns[i]; ++end) change(end->second, end->first, -1);
    change(object[i], start_ns[i], 1);
  }
  for (; end != ends.end(); ++end) change(end->second, end->first, -1);
}

void WaitObjects::changes(std::span<const int32_t> object, std::span<const int64_t> ns,
                          std::span<const int64_t> change_by) {
  for (size_t i = 0; i < object.size(); ++i) change(object[i], ns[i], change_by[i]);
}

}  // namespace headway::jfr
