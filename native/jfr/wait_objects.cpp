#include "jfr/wait_objects.h"

#include <algorithm>
#include <array>
#include <functional>

#include "jfr/seeded_hash.h"

namespace headway::jfr {
namespace {

// Times of a damaged file can be anything: sums go round instead of being undefined.
int64_t sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace

size_t WaitObjects::first_slot(const Key& key) const {
  const uint64_t what = static_cast<uint64_t>(key.class_name) * 4 + static_cast<uint64_t>(key.kind);
  return static_cast<size_t>(seeded_hash(static_cast<uint64_t>(key.address) ^ seeded_hash(what))) & (slots_.size() - 1);
}

// Where the next waits' objects are kept is in no cache, most of the time: memory is asked for all of them at once.
void WaitObjects::bring_near(int32_t kind, const WaitColumns& waits, size_t from) const {
  const size_t end = std::min(from + kNear, waits.address.size());
  std::array<size_t, kNear> at{};
  for (size_t i = from; i < end; ++i) {
    at[i - from] = first_slot({kind, waits.class_name[i], waits.address[i]});
    __builtin_prefetch(&slots_[at[i - from]]);
  }
  for (size_t i = from; i < end; ++i) bring_near(slots_[at[i - from]]);
}

void WaitObjects::bring_near(int32_t object) const {
  if (object < 0 || static_cast<size_t>(object) >= objects_.size()) return;
  const auto* bytes = reinterpret_cast<const char*>(&objects_[static_cast<size_t>(object)]);
  __builtin_prefetch(bytes, 1);
  __builtin_prefetch(bytes + sizeof(WaitObject) - 1, 1);
}

// Open addressing: what is found here is looked at next, so that a key needs no other place than the object.
int32_t* WaitObjects::slot(const Key& key) {
  const size_t mask = slots_.size() - 1;
  for (size_t at = first_slot(key);; at = (at + 1) & mask) {
    if (slots_[at] < 0) return &slots_[at];
    const WaitObject& object = objects_[static_cast<size_t>(slots_[at])];
    if (object.address == key.address && object.class_name == key.class_name && object.kind == key.kind) {
      return &slots_[at];
    }
  }
}

void WaitObjects::grow() {
  slots_.assign(slots_.size() * 2, -1);
  int32_t number = 0;
  for (const WaitObject& each : objects_) *slot({each.kind, each.class_name, each.address}) = number++;
}

// The number of an object, which is made where it is new.
int32_t WaitObjects::number(Key key) {
  int32_t* at = slot(key);
  if (*at < 0 && objects_.size() >= most_objects_ && key.address != 0) {
    ++not_told_apart_;
    key.address = 0;
    at = slot(key);
  }
  if (*at >= 0) return *at;
  if ((objects_.size() + 1) * 2 > slots_.size()) {
    grow();
    at = slot(key);
  }
  *at = static_cast<int32_t>(objects_.size());
  WaitObject& object = objects_.emplace_back();
  object.kind = key.kind;
  object.class_name = key.class_name;
  object.address = key.address;
  return *at;
}

std::vector<int32_t> WaitObjects::add(int32_t kind, const WaitColumns& waits) {
  std::vector<int32_t> numbers(waits.address.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i % kNear == 0) bring_near(kind, waits, i);
    numbers[i] = number({kind, waits.class_name[i], waits.address[i]});
    const int64_t start_ns = waits.start_ns[i], end_ns = sum(start_ns, waits.dur_ns[i]);
    WaitObject& object = objects_[static_cast<size_t>(numbers[i])];
    const bool is_new = object.times == 0;
    if (is_new || start_ns < object.first_ns) {
      object.first_ns = start_ns;
      object.first_thread = waits.thread[i];
      object.first_stack = waits.stack[i];
    }
    object.last_ns = is_new ? end_ns : std::max(object.last_ns, end_ns);
    object.times += 1;
    object.thread_time_ns = sum(object.thread_time_ns, waits.dur_ns[i]);
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

// The next to end leaves, at its end or at `ns` if that is sooner.
void WaitObjects::leave(int64_t ns) {
  const auto [end_ns, object] = open_.front();
  std::pop_heap(open_.begin(), open_.end(), std::greater<>());
  open_.pop_back();
  change(object, std::min(end_ns, ns), -1);
}

// At the same moment who leaves comes first: the number is then never above what it is before, or after, that moment.
void WaitObjects::levels(std::span<const int32_t> object, std::span<const int64_t> start_ns,
                         std::span<const int64_t> dur_ns) {
  for (size_t i = 0; i < object.size(); ++i) {
    const int64_t at = start_ns[i];
    if (i + kNear < object.size()) bring_near(object[i + kNear]);
    while (!open_.empty() && open_.front().first <= at) leave(at);
    if (dur_ns[i] <= 0) continue;
    if (open_.size() >= most_open_) {
      ++not_followed_;
      leave(at);
    }
    change(object[i], at, 1);
    open_.emplace_back(sum(at, dur_ns[i]), object[i]);
    std::push_heap(open_.begin(), open_.end(), std::greater<>());
  }
}

void WaitObjects::end_levels() {
  while (!open_.empty()) leave(open_.front().first);
}

}  // namespace headway::jfr
