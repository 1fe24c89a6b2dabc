#include "agent/objects/cache_lines.h"

#include <sys/mman.h>

#include <algorithm>

#include "agent/core/id_table.h"

namespace headway::agent {
namespace {

constexpr uint32_t kLineShift = 6, kBlockShift = 7;  // lines of 64 bytes, two of them in a block
constexpr size_t kBlockBytes = size_t{1} << kBlockShift;
constexpr size_t kBlocks = size_t{1} << 17;  // 16 MB of the heap, as lines are written to
constexpr size_t kWritesBytes = CacheLines::kPlaces * sizeof(uint64_t);
constexpr uint64_t kShareBit = uint64_t{1} << 63;  // in each key of a share

void* take(size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_NOHUGEPAGE);  // or each line that is written to first could cost 2 MB
  return at;
}

// place, other place: 16 bits each; other thread: 16; kind: 2; same object: 1.
uint64_t key_of(uint32_t place, uint32_t other_place, uint16_t other, hw_line_kind kind, bool same_object) {
  return kShareBit | uint64_t{place & 0xFFFF} << 36 | uint64_t{other_place & 0xFFFF} << 20 | uint64_t{other} << 4 |
         static_cast<uint64_t>(kind) << 1 | static_cast<uint64_t>(same_object);
}

}  // namespace

// In zero pages at first.
struct CacheLines::Block {
  // The last write to a line.
  struct Last {
    uint64_t object;
    uint32_t place;
    uint16_t thread;
  };

  SpinLock lock;
  bool is_shared;        // by several threads
  uint8_t last_written;  // of the two lines
  uint32_t epoch;
  uint64_t number;  // the address of its memory, in blocks
  std::array<Last, 2> lines;
  std::array<uint16_t, kBlockBytes> writers;  // of what begins at that byte, who wrote last
};

CacheLines::~CacheLines() {
  for (const auto& thread : alive_) munmap(thread->writes, kWritesBytes);
  if (blocks_ != nullptr) munmap(blocks_, kBlocks * sizeof(Block));
}

bool CacheLines::start() noexcept {
  const std::lock_guard locked(mutex_);
  if (blocks_ == nullptr) blocks_ = static_cast<Block*>(take(kBlocks * sizeof(Block)));
  return blocks_ != nullptr;
}

CacheLines::Thread* CacheLines::begin_thread(uint64_t java_id) noexcept {
  const std::lock_guard locked(mutex_);
  const bool has_room = ids_.size() <= kMostThreads && alive_.size() < kMostAlive;
  auto* const writes = has_room ? static_cast<uint64_t*>(take(kWritesBytes)) : nullptr;
  if (writes == nullptr) {
    threads_left_out_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto thread = std::make_unique<Thread>();
  thread->number = static_cast<uint16_t>(ids_.size());
  thread->java_id = java_id;
  thread->writes = writes;
  ids_.push_back(java_id);
  alive_.push_back(std::move(thread));
  return alive_.back().get();
}

void CacheLines::count(Thread& thread, uint32_t place) noexcept {
  uint64_t& writes = thread.writes[place % kPlaces];
  __atomic_store_n(&writes, writes + 1, __ATOMIC_RELAXED);
}

void CacheLines::note(Thread& thread, const Write& write) noexcept {
  count(thread, write.place);
  const Found found = find(thread.number, write);
  if (found.thread != 0) {
    add(thread, key_of(write.place, found.place, found.thread, found.kind, found.same_object));
  }
}

CacheLines::Found CacheLines::find(uint16_t thread, const Write& write) noexcept {
  const uint64_t number = write.address >> kBlockShift;
  Block& block = blocks_[number % kBlocks];  // what is near to each other takes no room from each other
  const std::lock_guard locked(block.lock);
  if (block.number != number || block.epoch != write.epoch) {
    if (block.is_shared && block.epoch == write.epoch) pushed_out_.fetch_add(1, std::memory_order_relaxed);
    block.is_shared = false;
    block.epoch = write.epoch;
    block.number = number;
    block.lines = {};
    block.writers = {};
  }
  const size_t line = (write.address >> kLineShift) & 1;
  uint16_t& writer = block.writers[write.address % kBlockBytes];
  const Block::Last& here = block.lines[line];
  const Block::Last& beside = block.lines[1 - line];
  Found found;
  if (writer != 0 && writer != thread) {
    found = {writer, write.place, HW_LINE_SAME_PLACE, true};
  } else if (writer != 0 && here.thread != thread) {
    found = {here.thread, here.place, HW_LINE_SAME_LINE, here.object == write.object};
  } else if (writer != 0 && block.last_written != line && beside.thread != thread) {
    found = {beside.thread, beside.place, HW_LINE_NEXT_LINE, beside.object == write.object};
  }
  block.is_shared |= (here.thread != 0 && here.thread != thread) || (beside.thread != 0 && beside.thread != thread);
  writer = thread;
  block.lines[line] = {write.object, write.place, thread};
  block.last_written = static_cast<uint8_t>(line);
  return found;
}

// Only the thread itself adds; a key is put last, so that who reads it finds a count.
void CacheLines::add(Thread& thread, uint64_t key) noexcept {
  const uint64_t begin = mix(0, key);
  for (size_t step = 0; step < kShares; ++step) {
    Share& share = thread.shares[(begin + step) % kShares];
    const uint64_t there = share.key.load(std::memory_order_relaxed);
    if (there != 0 && there != key) continue;
    share.count.store(share.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (there == 0) share.key.store(key, std::memory_order_release);
    return;
  }
  shares_left_out_.fetch_add(1, std::memory_order_relaxed);
}

void CacheLines::release(Thread& thread) noexcept {
  munmap(thread.writes, kWritesBytes);
  std::erase_if(alive_, [&thread](const auto& each) { return each.get() == &thread; });
}

hw_line_writes CacheLines::writes_of(const Thread& thread, uint32_t place) noexcept {
  hw_line_writes record{};
  record.java_id = thread.java_id;
  record.place = place;
  record.writes = __atomic_load_n(&thread.writes[place], __ATOMIC_RELAXED);
  return record;
}

hw_line_share CacheLines::share_of(const Thread& thread, uint64_t key, uint64_t count) const noexcept {
  hw_line_share record{};
  record.java_id = thread.java_id;
  record.other_id = ids_[(key >> 4) & 0xFFFF];
  record.place = static_cast<uint32_t>((key >> 36) & 0xFFFF);
  record.other_place = static_cast<uint32_t>((key >> 20) & 0xFFFF);
  record.kind = static_cast<hw_u16>((key >> 1) & 3);
  record.same_object = static_cast<hw_u16>(key & 1);
  record.writes = count;
  return record;
}

bool CacheLines::has_row(Thread& thread, uint64_t key) noexcept {
  if (thread.handed_on.contains(key)) return true;
  if (rows_ >= kMostRows) {
    shares_left_out_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  ++rows_;
  return true;
}

}  // namespace headway::agent
