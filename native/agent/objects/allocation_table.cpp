#include "agent/objects/allocation_table.h"

#include <sys/mman.h>

#include <bit>

#include "agent/core/id_table.h"
#include "agent/core/spin.h"

namespace headway::agent {
namespace {

constexpr uint32_t kWindow = 64;  // places that a key may have

bool is_same(const AllocationKey& key, uint64_t java_id, uint32_t class_id, uint32_t stack_id) {
  return key.java_id == java_id && key.class_id == class_id && key.stack_id == stack_id;
}

}  // namespace

AllocationTable::~AllocationTable() {
  if (rows_at_ != nullptr) munmap(rows_at_, kPlaces * sizeof(Row));
}

bool AllocationTable::start(bool is_sampled) noexcept {
  is_sampled_ = is_sampled;
  if (rows_at_ == nullptr) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const at = mmap(nullptr, kPlaces * sizeof(Row), PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (at == MAP_FAILED) return false;
    madvise(at, kPlaces * sizeof(Row), MADV_NOHUGEPAGE);  // or each row that is used first costs 2 MB
    rows_at_ = static_cast<Row*>(at);
  }
  end();
  return true;
}

void AllocationTable::end() noexcept {
  madvise(rows_at_, kPlaces * sizeof(Row), MADV_DONTNEED);  // zeros from now on
  rows_.store(0, std::memory_order_relaxed);
  rest_.objects = rest_.bytes = rest_.array_length = 0;
  rest_.java_id = HW_MANY_THREADS;
  rest_.written = 0;
  for (auto& estimate : rest_.estimates) estimate = 0;
}

void AllocationTable::add(const AllocationKey& key, const AllocatedObject& object) noexcept {
  Row* row = row_of(key, kMostRows);
  if (row == nullptr) row = row_of({HW_MANY_THREADS, key.class_id, 0}, kMostWithRest);
  count(row != nullptr ? *row : rest_, object);
}

AllocationTable::Row* AllocationTable::row_of(const AllocationKey& key, uint32_t most) noexcept {
  const uint64_t hash = mix(mix(key.java_id, key.class_id), key.stack_id);
  for (uint32_t step = 0; step < kWindow; ++step) {
    Row& row = rows_at_[(hash + step) % kPlaces];
    uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == kFree) {
      if (rows_.load(std::memory_order_relaxed) >= most) return nullptr;
      if (row.state.compare_exchange_strong(state, kBeingTaken, std::memory_order_acquire)) {
        row.java_id = key.java_id;
        row.class_id = key.class_id;
        row.stack_id = key.stack_id;
        row.state.store(kReady, std::memory_order_release);
        rows_.fetch_add(1, std::memory_order_relaxed);
        return &row;
      }
    }
    for (Backoff backoff; state == kBeingTaken; state = row.state.load(std::memory_order_acquire)) backoff.pause();
    if (is_same(key, row.java_id, row.class_id, row.stack_id)) return &row;
  }
  return nullptr;
}

void AllocationTable::count(Row& row, const AllocatedObject& object) noexcept {
  row.bytes.fetch_add(object.bytes, std::memory_order_relaxed);
  if (object.array_length != 0) row.array_length.fetch_add(object.array_length, std::memory_order_relaxed);
  if (is_sampled_) estimate(row, object);
  // Last: what has changed is told by it.
  row.objects.fetch_add(1, std::memory_order_release);
}

// An object stands for 1 / chance of them, and adds (1 - chance) / chance^2 to the variance of their number.
void AllocationTable::estimate(Row& row, const AllocatedObject& object) noexcept {
  const double weight = 1 / object.chance;
  const double variance = (1 - object.chance) * weight * weight;
  const double values[] = {1, static_cast<double>(object.bytes), static_cast<double>(object.array_length)};
  for (size_t i = 0; i < kEstimates / 2; ++i) {
    row.estimates[i].fetch_add(values[i] * weight, std::memory_order_relaxed);
    row.estimates[i + kEstimates / 2].fetch_add(values[i] * values[i] * variance, std::memory_order_relaxed);
  }
}

hw_allocation AllocationTable::record_of(Row& row) noexcept {
  hw_allocation record{};
  record.java_id = row.java_id;
  record.class_id = row.class_id;
  record.stack_id = row.stack_id;
  record.objects = row.written = row.objects.load(std::memory_order_acquire);
  record.bytes = row.bytes.load(std::memory_order_relaxed);
  record.array_length = row.array_length.load(std::memory_order_relaxed);
  for (size_t i = 0; i < kEstimates; ++i) {
    record.estimates[i] = std::bit_cast<uint64_t>(row.estimates[i].load(std::memory_order_relaxed));
  }
  return record;
}

}  // namespace headway::agent
