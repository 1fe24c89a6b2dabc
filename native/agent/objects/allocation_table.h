// Sums of allocations by thread, class and site, in memory of bounded size that many threads add to without waiting.
//
// What finds no row goes into one of its class for all threads together, then into one for everything: nothing is lost,
// but whose it is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/records.h"

namespace headway::agent {

// Whose allocations a row sums up; 0: unknown. HW_MANY_THREADS stands for all threads together.
struct AllocationKey {
  uint64_t java_id = 0;
  uint32_t class_id = 0;
  uint32_t stack_id = 0;
};

// One object, and how likely it was that we are told of it.
struct AllocatedObject {
  uint64_t bytes = 0;
  uint64_t array_length = 0;
  double chance = 1;
};

class AllocationTable {
 public:
  static constexpr uint32_t kPlaces = 1U << 17;
  static constexpr uint32_t kMostRows = kPlaces / 2;          // by thread
  static constexpr uint32_t kMostWithRest = kPlaces / 4 * 3;  // and those of a class for all threads that found none

  AllocationTable() = default;
  ~AllocationTable();
  AllocationTable(const AllocationTable&) = delete;
  AllocationTable& operator=(const AllocationTable&) = delete;

  // Empties it, or takes its address space; nobody uses it meanwhile. False: there is none to be had.
  // `is_sampled`: numbers of all are estimated besides.
  bool start(bool is_sampled) noexcept;
  // Gives its memory back; nobody uses it meanwhile.
  void end() noexcept;
  // Any thread.
  void add(const AllocationKey& key, const AllocatedObject& object) noexcept;
  uint32_t rows() const noexcept { return rows_.load(std::memory_order_relaxed); }

  // Hands on each row that has changed since it was handed on last, all but its head; returns how many. One thread at a
  // time.
  template <typename Write>
  uint32_t write_changed(Write write) noexcept {
    uint32_t written = 0;
    const auto look = [&](Row& row) {
      if (row.objects.load(std::memory_order_relaxed) == row.written) return;
      write(record_of(row));
      ++written;
    };
    for (uint32_t place = 0; place < kPlaces; ++place) {
      if (rows_at_[place].state.load(std::memory_order_acquire) == kReady) look(rows_at_[place]);
    }
    look(rest_);
    return written;
  }

 private:
  enum State : uint32_t { kFree, kBeingTaken, kReady };
  static constexpr size_t kEstimates = 6;

  // The first line of the cache is all that an object costs where each is told.
  struct alignas(64) Row {
    std::atomic<uint32_t> state;
    uint32_t class_id, stack_id;
    uint64_t java_id;
    std::atomic<uint64_t> objects, bytes, array_length;
    uint64_t written;  // objects, when it was written last
    alignas(64) std::array<std::atomic<double>, kEstimates> estimates;
  };
  static_assert(sizeof(Row) == 128);

  Row* row_of(const AllocationKey& key, uint32_t most) noexcept;
  static hw_allocation record_of(Row& row) noexcept;
  void count(Row& row, const AllocatedObject& object) noexcept;
  static void estimate(Row& row, const AllocatedObject& object) noexcept;

  Row* rows_at_ = nullptr;  // zeroed memory is free rows
  bool is_sampled_ = false;
  std::atomic<uint32_t> rows_{0};
  Row rest_{};
};

}  // namespace headway::agent
