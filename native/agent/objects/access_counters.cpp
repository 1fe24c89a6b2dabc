#include "agent/objects/access_counters.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>

namespace headway::agent {
namespace {

// A page with the block's key at its end, then the counters.
constexpr size_t kHeadBytes = 4096;
constexpr size_t kBlockBytes = kHeadBytes + size_t{AccessCounters::kCounters} * sizeof(uint64_t);
constexpr size_t kSlotBytes = size_t{AccessCounters::kSlots} * sizeof(uint64_t);
constexpr int32_t kMiddle = AccessCounters::kCounters / 2;
constexpr size_t kMostLeftOut = 1000;  // threads that are told apart

void* take(size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_NOHUGEPAGE);  // or each counter that is used first costs 2 MB
  return at;
}

uint64_t middle_of(const unsigned char* memory) {
  return reinterpret_cast<uint64_t>(memory) + kHeadBytes + size_t{kMiddle} * sizeof(uint64_t);
}

}  // namespace

AccessCounters::~AccessCounters() {
  for (const Block& block : blocks_) munmap(block.memory, kBlockBytes);
  if (nobodys_ != nullptr) munmap(nobodys_, kBlockBytes);
  if (slots_ != nullptr) munmap(slots_, kSlotBytes);
}

bool AccessCounters::start() noexcept {
  const std::lock_guard locked(mutex_);
  if (slots_ != nullptr) return true;
  nobodys_ = take_memory();
  auto* const slots = static_cast<uint64_t*>(take(kSlotBytes));
  if (nobodys_ == nullptr || slots == nullptr) return false;
  std::fill_n(slots, kSlots, middle_of(nobodys_));  // its key is 0, which no thread has
  slots_ = slots;
  return true;
}

std::optional<int32_t> AccessCounters::number_of(uint32_t class_id, std::span<const AccessCounts> counts) noexcept {
  const std::lock_guard locked(mutex_);
  for (const size_t known : of_class_[class_id]) {
    if (std::ranges::equal(counted_[known].counts, counts)) {
      return static_cast<int32_t>(counted_[known].first) - kMiddle;
    }
  }
  if (counts.size() > kCounters - next_counter_) return std::nullopt;
  const uint32_t first = next_counter_;
  next_counter_ += static_cast<uint32_t>(counts.size());
  of_class_[class_id].push_back(counted_.size());
  counted_.push_back({class_id, first, {counts.begin(), counts.end()}});
  return static_cast<int32_t>(first) - kMiddle;
}

uint64_t AccessCounters::find(int64_t key) noexcept {
  const std::lock_guard locked(mutex_);
  auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    const std::optional<uint32_t> number = take_block();
    if (!number) {
      if (left_out_.size() < kMostLeftOut) left_out_.insert(key);
      return middle_of(nobodys_);
    }
    Block& block = blocks_[*number];
    block.serial = ++serial_;
    block.written.clear();
    set_key(block, key);
    found = by_key_.emplace(key, *number).first;
  }
  const uint64_t middle = middle_of(blocks_[found->second].memory);
  __atomic_store_n(&slots_[static_cast<uint64_t>(key) % kSlots], middle, __ATOMIC_RELEASE);
  return middle;
}

unsigned char* AccessCounters::take_memory() noexcept { return static_cast<unsigned char*>(take(kBlockBytes)); }

std::optional<uint32_t> AccessCounters::take_block() noexcept {
  if (!free_.empty()) {
    const uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  unsigned char* const memory = blocks_.size() < kMostBlocks ? take_memory() : nullptr;
  if (memory == nullptr) return std::nullopt;
  blocks_.push_back({memory});
  return static_cast<uint32_t>(blocks_.size() - 1);
}

void AccessCounters::release(uint32_t number) noexcept {
  Block& block = blocks_[number];
  set_key(block, 0);
  madvise(block.memory + kHeadBytes, kBlockBytes - kHeadBytes, MADV_DONTNEED);  // zeros from now on
  free_.push_back(number);
}

void AccessCounters::set_key(Block& block, int64_t key) noexcept {
  block.key = key;
  auto* const at = reinterpret_cast<int64_t*>(block.memory + kHeadBytes - sizeof(int64_t));
  __atomic_store_n(at, key, __ATOMIC_RELEASE);
}

uint64_t* AccessCounters::counters_of(const Block& block) noexcept {
  return reinterpret_cast<uint64_t*>(block.memory + kHeadBytes);
}

std::map<uint32_t, AccessCounters::Sums> AccessCounters::sums_of(const Block& block) const noexcept {
  std::map<uint32_t, Sums> found;
  const uint64_t* const counters = counters_of(block);
  for (const Counted& counted : counted_) {
    for (size_t i = 0; i < counted.counts.size(); ++i) {
      const uint64_t times = __atomic_load_n(&counters[counted.first + i], __ATOMIC_RELAXED);
      if (times == 0) continue;
      Sums& sums = found[counted.class_id];
      for (size_t kind = 0; kind < kAccesses; ++kind) sums[kind] += times * counted.counts[i][kind];
    }
  }
  return found;
}

bool AccessCounters::has_row(Block& block, uint32_t class_id) noexcept {
  if (block.written.contains(class_id)) return true;
  if (rows_ >= kMostRows) return false;
  ++rows_;
  block.written[class_id] = 0;
  return true;
}

hw_access AccessCounters::record_of(uint64_t java_id, uint32_t class_id, uint32_t serial, const Sums& sums) noexcept {
  hw_access record{};
  record.java_id = java_id;
  record.class_id = class_id;
  record.block = serial;
  std::ranges::copy(sums, record.counts);
  return record;
}

uint64_t AccessCounters::total(const Sums& sums) noexcept {
  return std::accumulate(sums.begin(), sums.end(), uint64_t{0});
}

uint64_t AccessCounters::java_id(int64_t key) noexcept {
  return key > 0 ? static_cast<uint64_t>(key) : uint64_t{HW_VIRTUAL_THREADS};
}

}  // namespace headway::agent
