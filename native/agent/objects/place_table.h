// Numbers of what code writes to, as instructions have room for: fields, and elements of the arrays that a method writes.
// For each number the place in an object, once it is known, in memory where Java code looks by itself
// (hooks/java.base/java/lang/HeadwayCount0.java).
//
// Numbers are of one class file each, as classes of one name may lay their objects out differently. Knows nothing of the JVM.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/classfile/write_places.h"

namespace headway::agent {

class PlaceTable {
 public:
  static constexpr int32_t kMiddle = 1 << 15;  // an instruction's number and this is that of the place, from 1 on
  static constexpr uint32_t kMost = (1U << 16) - 1;

  // As WritePlace, with texts of its own.
  struct Place {
    bool is_element = false;
    std::string owner, name, descriptor;
  };

  PlaceTable() = default;
  ~PlaceTable();  // no code looks there any more
  PlaceTable(const PlaceTable&) = delete;
  PlaceTable& operator=(const PlaceTable&) = delete;

  bool start() noexcept;  // once; false: no memory
  // The number, for instructions, of the first of these, which are those of a class's code; the others follow. None: there is
  // no room. `is_again`: the class was loaded before, and its code is changed now: it has the numbers that it had, unless
  // several classes of its name have been loaded, or it writes to other places now.
  std::optional<int32_t> add(uint32_t class_id, std::span<const WritePlace> places, bool is_again) noexcept;
  // By the number in an instruction. None: it is none.
  std::optional<Place> find(int32_t number) const noexcept;
  uint32_t last() const noexcept;

  // The address of a word for each place: 0: not known yet, below 0: it can't be known, else what Java code has put there.
  uint64_t address() const noexcept { return reinterpret_cast<uint64_t>(words_); }
  void set(int32_t number, int64_t word) noexcept;

 private:
  bool has_at(uint32_t first, std::span<const WritePlace> places) const noexcept;

  mutable std::mutex mutex_;
  int64_t* words_ = nullptr;
  std::vector<Place> places_{1};
  std::map<uint32_t, std::vector<uint32_t>> of_class_;  // the first places of each time that it was loaded
};

}  // namespace headway::agent
