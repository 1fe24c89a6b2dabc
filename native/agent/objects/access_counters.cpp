#include "agent/objects/access_counters.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>

namespace headway::agent {
namespace {

// A page with the block's key at its end, then the counters.
constexpr size_t kHeadBytes = 4096;
constexpr size_t kCounterBytes = size_t{AccessCounters::kCounters} * sizeof(uint64_t);
// Behind the counters, for each rule: of each row the accesses to own objects, to those of others, and to those of unknown
// owners; then of each owner those of each kind.
constexpr size_t kRowWords = 4;
constexpr size_t kOwnedBytes = size_t{AccessCounters::kOwnedRows} * kRowWords * sizeof(uint64_t);
constexpr size_t kPairBytes = size_t{AccessCounters::kForeignOwner + 1} * HW_OWNED_KINDS * sizeof(uint64_t);
constexpr size_t kRuleWords = (kOwnedBytes + kPairBytes) / sizeof(uint64_t);
// Behind those of both rules, where accesses are sampled: of each row how many accesses it is until the next sample, 0: there
// was none yet, and how many that was behind the one before.
constexpr size_t kNodeBytes = size_t{AccessCounters::kOwnedRows} * 2 * sizeof(uint64_t);
// Behind the table of blocks: how many numbers owners have.
constexpr size_t kSlotBytes = (size_t{AccessCounters::kSlots} + 1) * sizeof(uint64_t);
// Words before the counters: the block's key, its owner's number, the state of its random bits; the next numbers that its
// thread gives to objects that it allocates, and to those of others (object_ids.h), 0: it has none.
enum HeadWord : size_t { kKey = 1, kOwner = 2, kRandom = 3, kOwnIds = 4, kOtherIds = 5 };
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
  for (const Block& block : blocks_) munmap(block.memory, block_bytes());
  if (nobodys_ != nullptr) munmap(nobodys_, block_bytes());
  if (slots_ != nullptr) munmap(slots_, kSlotBytes);
}

bool AccessCounters::start(OwnerRules rules, ObjectIds* ids, bool with_nodes) noexcept {
  const std::lock_guard locked(mutex_);
  if (slots_ != nullptr) return true;
  rules_ = rules;
  ids_ = ids;
  has_nodes_ = with_nodes;
  nobodys_ = take_memory();
  auto* const slots = static_cast<uint64_t*>(take(kSlotBytes));
  if (nobodys_ == nullptr || slots == nullptr) return false;
  std::fill_n(slots, kSlots, middle_of(nobodys_));  // its key is 0, which no thread has
  slots[kSlots] = next_owner_ - 1;                  // the last of them
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

std::optional<int32_t> AccessCounters::rows_of(uint32_t class_id) noexcept {
  const std::lock_guard locked(mutex_);
  const auto next = static_cast<uint32_t>(owned_.size()) * HW_OWNED_KINDS;
  auto found = owned_.find(class_id);
  if (found == owned_.end()) {
    if ((!rules_.any() && !has_nodes_) || next >= kOwnedRows) return std::nullopt;
    found = owned_.emplace(class_id, next).first;
    row_classes_.push_back(class_id);
  }
  return static_cast<int32_t>(found->second) - kMiddle;
}

uint32_t AccessCounters::class_of_row(int32_t row) noexcept {
  const std::lock_guard locked(mutex_);
  const size_t place = static_cast<size_t>(row + kMiddle) / HW_OWNED_KINDS;
  return place < row_classes_.size() ? row_classes_[place] : 0;
}

uint64_t AccessCounters::id_of_owner(uint32_t owner) noexcept {
  const std::lock_guard locked(mutex_);
  return owner == kForeignOwner ? HW_FOREIGN_OWNER : owner < next_owner_ ? owner_ids_[owner] : 0;
}

uint32_t AccessCounters::owner_of_key(int64_t key) noexcept {
  if (!rules_.any()) return kUnknownOwner;
  if (key < 0) return kVirtualOwner;
  if (next_owner_ == kForeignOwner) {
    ++owners_left_out_;
    return kUnknownOwner;
  }
  owner_ids_[next_owner_] = static_cast<uint64_t>(key);
  __atomic_store_n(&slots_[kSlots], next_owner_, __ATOMIC_RELEASE);
  return next_owner_++;
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
    block.pairs_written.clear();
    block.owner = owner_of_key(key);
    if (windows_.is_on() && !begin_windowed(block, key)) {
      free_.push_back(*number);
      if (left_out_.size() < kMostLeftOut) left_out_.insert(key);
      return middle_of(nobodys_);
    }
    set_key(block, key);
    found = by_key_.emplace(key, *number).first;
  }
  const uint64_t middle = middle_of(blocks_[found->second].memory);
  __atomic_store_n(&slots_[static_cast<uint64_t>(key) % kSlots], middle, __ATOMIC_RELEASE);
  return middle;
}

unsigned char* AccessCounters::take_memory() const noexcept { return static_cast<unsigned char*>(take(block_bytes())); }

size_t AccessCounters::block_bytes() const noexcept {
  const size_t areas = has_nodes_ || rules_.last_writer ? 2 : rules_.allocator ? 1 : 0;
  return kHeadBytes + kCounterBytes + areas * (kOwnedBytes + kPairBytes) + (has_nodes_ ? kNodeBytes : 0);
}

std::optional<uint32_t> AccessCounters::take_block() noexcept {
  if (!free_.empty()) {
    const uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  unsigned char* const memory = blocks_.size() < kMostBlocks ? take_memory() : nullptr;
  if (memory == nullptr) return std::nullopt;
  blocks_.push_back({memory, reinterpret_cast<uint64_t*>(memory + kHeadBytes)});
  return static_cast<uint32_t>(blocks_.size() - 1);
}

void AccessCounters::release(uint32_t number) noexcept {
  Block& block = blocks_[number];
  give_ids_back(block);
  set_key(block, 0);
  block.by_group.clear();
  block.windowed = nullptr;
  madvise(block.memory + kHeadBytes, block_bytes() - kHeadBytes, MADV_DONTNEED);  // zeros from now on
  free_.push_back(number);
}

void AccessCounters::give_ids_back(const Block& block) const noexcept {
  if (ids_ == nullptr) return;
  const auto* const head = reinterpret_cast<const int64_t*>(block.memory + kHeadBytes);
  ids_->give_back(static_cast<uint8_t>(block.owner), static_cast<uint32_t>(*(head - kOwnIds)));
  ids_->give_back(kUnknownOwner, static_cast<uint32_t>(*(head - kOtherIds)));
}

void AccessCounters::set_key(Block& block, int64_t key) noexcept {
  block.key = key;
  auto* const head = reinterpret_cast<int64_t*>(block.memory + kHeadBytes);
  *(head - kOwner) = key == 0 ? kUnknownOwner : block.owner;
  *(head - kRandom) = static_cast<int64_t>(block.serial) << 40;  // threads begin in different places
  *(head - kOwnIds) = *(head - kOtherIds) = 0;                   // what is left is of another thread's objects
  __atomic_store_n(head - kKey, key, __ATOMIC_RELEASE);
}

uint64_t* AccessCounters::counters_of(const Block& block) noexcept { return block.counters; }

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
  for (size_t rule = 0; rule < kOwnerRules; ++rule) {
    // Each access is in the rows of each rule.
    if (rules_.has(rule)) add_owned(block, rule, rule == 0 || !rules_.allocator, found);
  }
  return found;
}

void AccessCounters::add_owned(const Block& block, size_t rule, bool adds_all,
                               std::map<uint32_t, Sums>& sums) const noexcept {
  const uint64_t* const rows = counters_of(block) + kCounters + rule * kRuleWords;
  for (const auto& [class_id, first] : owned_) {
    for (size_t kind = 0; kind < HW_OWNED_KINDS; ++kind) {
      const uint64_t* const row = rows + (first + kind) * kRowWords;
      uint64_t local = __atomic_load_n(&row[0], __ATOMIC_RELAXED);
      const uint64_t shared = __atomic_load_n(&row[1], __ATOMIC_RELAXED);
      const uint64_t all = local + shared + __atomic_load_n(&row[2], __ATOMIC_RELAXED);
      if (all == 0) continue;
      if (block.owner == kVirtualOwner) local = 0;  // another virtual thread's, perhaps
      Sums& found = sums[class_id];
      if (adds_all) found[kind] += all;
      found[local_at(rule) + kind] += local;
      found[shared_at(rule) + kind] += shared;
    }
  }
}

AccessCounters::Pair AccessCounters::pair_of(const Block& block, size_t rule, uint32_t owner) const noexcept {
  const uint64_t* const pairs = counters_of(block) + kCounters + rule * kRuleWords + size_t{kOwnedRows} * kRowWords;
  Pair found{};
  for (size_t kind = 0; kind < HW_OWNED_KINDS; ++kind) {
    found[kind] = __atomic_load_n(&pairs[owner * HW_OWNED_KINDS + kind], __ATOMIC_RELAXED);
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

bool AccessCounters::has_pair_row(Block& block, uint32_t key) noexcept {
  if (block.pairs_written.contains(key)) return true;
  if (pair_rows_ >= kMostRows) return false;
  ++pair_rows_;
  block.pairs_written[key] = 0;
  return true;
}

hw_access AccessCounters::record_of(uint64_t java_id, uint32_t class_id, uint32_t serial, const Sums& sums) noexcept {
  hw_access record{};
  record.java_id = java_id;
  record.class_id = class_id;
  record.block = serial;
  std::copy_n(sums.begin(), kAccesses, record.counts);
  return record;
}

hw_access_owners AccessCounters::owners_of(const hw_access& record, size_t rule, const Sums& sums) noexcept {
  hw_access_owners found{};
  found.head.type = rule == 0 ? HW_ACCESS_OWNERS : HW_ACCESS_WRITERS;
  found.java_id = record.java_id;
  found.class_id = record.class_id;
  found.block = record.block;
  std::copy_n(sums.begin() + local_at(rule), HW_OWNED_KINDS, found.local);
  std::copy_n(sums.begin() + shared_at(rule), HW_OWNED_KINDS, found.shared);
  return found;
}

uint64_t AccessCounters::total(const Sums& sums) noexcept {
  return std::accumulate(sums.begin(), sums.end(), uint64_t{0});
}

// --- windows ---------------------------------------------------------------------------------------------------------

void AccessCounters::start_windows() noexcept {
  const std::lock_guard locked(mutex_);
  windows_.start(kCounters);
}

std::vector<AccessWindows::Counting> AccessCounters::all_counting() const noexcept {
  std::vector<AccessWindows::Counting> found;
  found.reserve(by_key_.size());
  for (const auto& [key, number] : by_key_) found.push_back(counting_of(blocks_[number]));
  return found;
}

std::vector<uint8_t> AccessCounters::switches() noexcept {
  const std::lock_guard locked(mutex_);
  const std::span<const uint8_t> all = windows_.switches();
  return {all.begin(), all.end()};
}

void AccessCounters::open_window() noexcept {
  const std::lock_guard locked(mutex_);
  windows_.open_window();
}

void AccessCounters::look_before_window() noexcept {
  const std::lock_guard locked(mutex_);
  windows_.look(all_counting());
}

void AccessCounters::begin_window() noexcept {
  const std::lock_guard locked(mutex_);
  windows_.begin_window(all_counting(), next_counter_);
}

void AccessCounters::end_window() noexcept {
  const std::lock_guard locked(mutex_);
  windows_.end_window(all_counting(), next_counter_);
}

void AccessCounters::end_windows() noexcept {
  const std::lock_guard locked(mutex_);
  if (!windows_.is_on()) return;
  for (const AccessWindows::Counting& each : all_counting()) windows_.end_thread(each, next_counter_);
  windows_.end();
}

// False: there is no memory, or no number for the block that leaves room for its groups.
bool AccessCounters::begin_windowed(Block& block, int64_t key) noexcept {
  if (block.serial >> HW_WINDOW_GROUP_SHIFT != 0) return false;
  block.windowed = WindowedThread::make(kCounters);
  if (block.windowed == nullptr) return false;
  block.work_written = {};
  block.by_group.resize(WindowedThread::kAll);
  for (uint32_t group = 0; group < WindowedThread::kAll; ++group) {
    Block& part = block.by_group[group];
    part.counters = block.windowed->counters_of_group(group);
    part.key = key;
    part.serial = block.serial | group << HW_WINDOW_GROUP_SHIFT;
  }
  return true;
}

hw_access_window AccessCounters::window_of(const Block& block, uint32_t group) const noexcept {
  const WindowWork& work = block.windowed->work(group);
  hw_access_window record{};
  record.java_id = java_id(block.key);
  record.block = block.by_group[group].serial;
  record.sums[HW_CPU_IN] = static_cast<uint64_t>(work.in_ns);
  record.sums[HW_CPU_OWN] = static_cast<uint64_t>(work.own_ns);
  record.sums[HW_CPU_BETWEEN] = static_cast<uint64_t>(work.between_ns);
  record.sums[HW_CPU_BEFORE] = static_cast<uint64_t>(work.before_ns);
  record.sums[HW_CPU_UNSEEN] = static_cast<uint64_t>(work.unseen_ns);
  if (group > 0) return record;
  const MarkCheck check = block.windowed->check(next_counter_);
  record.sums[HW_MARKS] = check.passed;
  record.sums[HW_MARKS_IN] = check.in;
  record.sums[HW_MARKS_WRONG] = check.wrong;
  record.sums[HW_MARKS_LARGEST] = check.largest;
  return record;
}

uint64_t AccessCounters::java_id(int64_t key) noexcept {
  return key > 0 ? static_cast<uint64_t>(key) : uint64_t{HW_VIRTUAL_THREADS};
}

}  // namespace headway::agent
