// A table of values by ids that count from 1 in a sound file, and may be anything in a damaged one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headway {

template <typename T>
class ById {
 public:
  // The value of an id, made when it is not there yet. Valid until the next call.
  T& at(uint32_t id) {
    ++asked_;
    if (id < direct_.size()) return direct_[id];
    // By how often there was something to keep, not by the ids: else a few records with ids that double could ask for
    // all the memory there is.
    if (id > 4 * asked_ + kFirst) return far_[id];
    direct_.resize(std::max<size_t>(id + size_t{1}, direct_.size() + direct_.size() / 2 + kFirst));
    std::erase_if(far_, [&](auto& each) {
      if (each.first >= direct_.size()) return false;
      direct_[each.first] = std::move(each.second);
      return true;
    });
    return direct_[id];
  }
  const T* find(uint32_t id) const {
    if (id < direct_.size()) return &direct_[id];
    const auto found = far_.find(id);
    return found == far_.end() ? nullptr : &found->second;
  }
  // Every id that may have a value, those never asked for included, in no order.
  template <typename Handle>
  void for_each(Handle handle) const {
    for (size_t id = 0; id < direct_.size(); ++id) handle(static_cast<uint32_t>(id), direct_[id]);
    for (const auto& [id, value] : far_) handle(id, value);
  }

 private:
  static constexpr size_t kFirst = 256;
  std::vector<T> direct_;
  uint64_t asked_ = 0;
  std::unordered_map<uint32_t, T> far_;  // ids far beyond those seen so far
};

}  // namespace headway
