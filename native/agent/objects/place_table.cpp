#include "agent/objects/place_table.h"

#include <sys/mman.h>

#include <algorithm>

namespace headway::agent {
namespace {

constexpr size_t kBytes = (size_t{PlaceTable::kMost} + 1) * sizeof(int64_t);

}  // namespace

PlaceTable::~PlaceTable() {
  if (words_ != nullptr) munmap(words_, kBytes);
}

bool PlaceTable::start() noexcept {
  const std::lock_guard locked(mutex_);
  if (words_ != nullptr) return true;
  void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  words_ = static_cast<int64_t*>(at);
  return true;
}

bool PlaceTable::has_at(uint32_t first, std::span<const WritePlace> places) const noexcept {
  if (places.size() > places_.size() - first) return false;
  const auto is_same = [](const Place& known, const WritePlace& place) {
    return known.is_element == place.is_element && known.owner == place.owner && known.name == place.name &&
           known.descriptor == place.descriptor;
  };
  return std::equal(places.begin(), places.end(), places_.begin() + first,
                    [&](const WritePlace& place, const Place& known) { return is_same(known, place); });
}

std::optional<int32_t> PlaceTable::add(uint32_t class_id, std::span<const WritePlace> places, bool is_again) noexcept {
  const std::lock_guard locked(mutex_);
  std::vector<uint32_t>& loaded = of_class_[class_id];
  if (is_again && loaded.size() == 1 && has_at(loaded[0], places)) return static_cast<int32_t>(loaded[0]) - kMiddle;
  if (words_ == nullptr || places.size() > kMost + 1 - places_.size()) return std::nullopt;
  const auto first = static_cast<int32_t>(places_.size()) - kMiddle;
  loaded.push_back(static_cast<uint32_t>(places_.size()));
  for (const WritePlace& each : places) {
    places_.push_back({each.is_element, std::string(each.owner), std::string(each.name), std::string(each.descriptor)});
  }
  return first;
}

std::optional<PlaceTable::Place> PlaceTable::find(int32_t number) const noexcept {
  const std::lock_guard locked(mutex_);
  const int64_t place = int64_t{number} + kMiddle;
  if (place < 1 || place >= static_cast<int64_t>(places_.size())) return std::nullopt;
  return places_[static_cast<size_t>(place)];
}

uint32_t PlaceTable::last() const noexcept {
  const std::lock_guard locked(mutex_);
  return static_cast<uint32_t>(places_.size() - 1);
}

void PlaceTable::set(int32_t number, int64_t word) noexcept {
  const std::lock_guard locked(mutex_);
  const int64_t place = int64_t{number} + kMiddle;
  if (place < 1 || place >= static_cast<int64_t>(places_.size())) return;
  __atomic_store_n(&words_[place], word, __ATOMIC_RELEASE);
}

}  // namespace headway::agent
