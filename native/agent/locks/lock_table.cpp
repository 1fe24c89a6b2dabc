#include "agent/locks/lock_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "agent/core/backed_file.h"
#include "agent/core/clock.h"
#include "agent/core/old_glibc.h"

namespace headway::agent {
namespace {

static_assert(sizeof(hw_lock_slot) == 128 && sizeof(hw_lock_header) <= HW_HEADER_BYTES);
static_assert(offsetof(hw_lock_slot, identity_hash) == 64 && LockTable::kSlotsAt % 128 == 0);
static_assert(HW_LOCK_CLASSES <= UINT16_MAX);

// The lock of a slot is its sequence: odd while one thread writes.
class Writing {
 public:
  explicit Writing(hw_lock_slot& slot) noexcept
      : sequence_(slot.sequence), was_(sequence_.load(std::memory_order_relaxed)) {
    if (!take()) [[unlikely]]
      wait();
#if !defined(__SANITIZE_THREAD__)  // which knows no fences, and sees no other process
    // The odd sequence comes before what is written next, also for a reader in another process.
    std::atomic_thread_fence(std::memory_order_release);
#endif
  }
  ~Writing() { sequence_.store(was_ + 2, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  bool take() noexcept {
    return was_ % 2 == 0 && sequence_.compare_exchange_weak(was_, was_ + 1, std::memory_order_acquire);
  }
  [[gnu::cold, gnu::noinline]] void wait() noexcept {
    Backoff backoff;
    do {
      backoff.pause();
      was_ = sequence_.load(std::memory_order_relaxed);
    } while (!take());
  }

  std::atomic_ref<hw_u32> sequence_;
  hw_u32 was_;
};

// The times of what went on since the last event; returns the time of this one.
int64_t account(hw_lock_slot& slot, int64_t now_ns) {
  if (slot.first_ns == 0) slot.first_ns = slot.last_ns = now_ns;
  if (now_ns > slot.last_ns) {
    const auto elapsed_ns = static_cast<uint64_t>(now_ns - slot.last_ns);
    slot.thread_time_ns += slot.parked_now * elapsed_ns;
    if (slot.parked_now > 0) slot.real_time_ns += elapsed_ns;
    slot.last_ns = now_ns;
  }
  return slot.last_ns;
}

// All but the sequence, which others look at, and what links free slots; the slot is locked.
hw_lock_slot copy_of(const hw_lock_slot& slot) {
  hw_lock_slot copy{};
  constexpr size_t kBegin = offsetof(hw_lock_slot, blocker_id);
  std::memcpy(reinterpret_cast<std::byte*>(&copy) + kBegin, reinterpret_cast<const std::byte*>(&slot) + kBegin,
              offsetof(hw_lock_slot, spare) - kBegin);
  return copy;
}

uint64_t hash_of(std::string_view text) {
  uint64_t value = 14695981039346656037ULL;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return value;
}

}  // namespace

LockTable::~LockTable() {
  guard_.forget();
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
  if (fd_ >= 0) close(fd_);
}

// --- the file --------------------------------------------------------------------------------------------------------

bool LockTable::create(const std::string& path, pid_t pid, bool no_map, uint32_t max_slots) noexcept {
  const uint64_t least = kSlotsAt + kSegmentBytes;
  const uint64_t most = std::min(file_size_limit(), kSlotsAt + uint64_t{max_slots} * sizeof(hw_lock_slot));
  if (most < least) return false;
  if (!class_places_.reserve(kClassPlaces, kClassPlaces) || !class_places_.make_room(kClassPlaces)) return false;
  map_bytes_ = most;
  max_slots_ = static_cast<uint32_t>((most - kSlotsAt) / sizeof(hw_lock_slot));
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat status {};
  if (fd_ < 0) return false;
  if (file_status(fd_, &status) == 0) {
    dev_ = status.st_dev;
    ino_ = status.st_ino;
    const int error = allocate_space(fd_, 0, least);
    through_ = no_map || must_write_through(fd_, error) || !FileGuard::install();
    if ((error == 0 || through_) && map_file()) {
      limit_.store(through_ ? map_bytes_ : least, std::memory_order_release);
      write_header(pid);
      if (!full_.load(std::memory_order_relaxed)) return true;
    }
  }
  guard_.forget();
  unlink(path.c_str());
  close(fd_);
  fd_ = -1;
  return false;
}

bool LockTable::map_file() noexcept {
  const int flags = through_ ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
  void* at = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, flags, through_ ? -1 : fd_, 0);
  if (at == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(at);
  mapped_bytes_ = map_bytes_;
  madvise(base_, map_bytes_, MADV_DONTDUMP);
  return through_ || guard_.watch(base_, kSlotsAt + kSegmentBytes, &cut_, nullptr);
}

void LockTable::write_header(pid_t pid) noexcept {
  hw_lock_header* head = header();
  head->version = HW_LOCK_VERSION;
  head->pid = static_cast<hw_u32>(pid);
  head->created_ns = monotonic_ns();
  head->slot_bytes = sizeof(hw_lock_slot);
  head->slots = 1;
  head->classes = 1;
  // Last, so that a header with its magic is whole.
  uint64_t magic = 0;
  std::memcpy(&magic, HW_LOCK_MAGIC, sizeof(magic));
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(head->magic)).store(magic, std::memory_order_release);
  if (through_ && !write_at(0, head, HW_HEADER_BYTES)) full_.store(true, std::memory_order_relaxed);
}

// A program that closes descriptors it does not own may have given our number to a file of its own: never touch that.
bool LockTable::same_file() const noexcept {
  struct stat status {};
  return file_status(fd_, &status) == 0 && status.st_dev == dev_ && status.st_ino == ino_;
}

// Ours, and as long as it was.
bool LockTable::is_whole(uint64_t bytes) noexcept {
  struct stat status {};
  if (file_status(fd_, &status) != 0 || status.st_dev != dev_ || status.st_ino != ino_) return false;
  if (!is_cut() && (static_cast<uint64_t>(status.st_size) < bytes || !has_marked_slot())) guard_.give_up();
  return !is_cut();
}

// False where the file was cut off and has grown again: by us, who were just about to make room.
bool LockTable::has_marked_slot() noexcept {
  const uint32_t marked = marked_.load(std::memory_order_acquire);
  return marked == 0 || std::atomic_ref<hw_u32>(at(marked).sequence).load(std::memory_order_relaxed) != 0;
}

// Once the file is cut off its sums stand still: nobody is to take them for those of the whole recording.
void LockTable::look_at_file() noexcept {
  if (through_ || spoilt_ || is_whole(limit_.load(std::memory_order_acquire)) || !is_cut()) return;
  spoilt_ = true;
  struct stat status {};
  constexpr std::array<char, sizeof(hw_lock_header::magic)> kNone{};
  if (same_file() && file_status(fd_, &status) == 0 && status.st_size > 0) write_at(0, kNone.data(), kNone.size());
}

bool LockTable::write_at(uint64_t offset, const void* data, size_t bytes) noexcept {
  return same_file() && pwrite(fd_, data, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool LockTable::ensure_backed(uint64_t end) noexcept {
  Backoff backoff;
  while (end > limit_.load(std::memory_order_acquire)) {
    if (full_.load(std::memory_order_relaxed) || end > map_bytes_) return false;
    if (!extending_.exchange(true, std::memory_order_acquire)) {
      if (end > limit_.load(std::memory_order_relaxed) && !extend()) full_.store(true, std::memory_order_relaxed);
      extending_.store(false, std::memory_order_release);
    } else {
      backoff.pause();
    }
  }
  return true;
}

bool LockTable::extend() noexcept {
  const uint64_t limit = limit_.load(std::memory_order_relaxed);
  const uint64_t bytes = std::min(kSegmentBytes, map_bytes_ - limit);
  if (released_.load(std::memory_order_acquire)) return false;
  if (!is_whole(limit) || allocate_space(fd_, limit, bytes) != 0) return false;
  guard_.grow(limit + bytes);
  limit_.store(limit + bytes, std::memory_order_release);
  return true;
}

hw_lock_header LockTable::header_now() const noexcept {
  const auto now = [](auto& counter) { return std::atomic_ref(counter).load(std::memory_order_relaxed); };
  hw_lock_header* from = header();
  hw_lock_header head{};
  std::memcpy(&head, from, offsetof(hw_lock_header, slots));
  head.forgotten = now(from->forgotten);
  head.dropped = now(from->dropped);
  head.threads_parked = now(from->threads_parked);
  head.capped_ns = now(from->capped_ns);
  head.updated_ns = now(from->updated_ns);
  head.below_threshold = now(from->below_threshold);
  head.untimed_holds = now(from->untimed_holds);
  return head;
}

void LockTable::save() noexcept {
  if (!through_ || released_.load(std::memory_order_acquire)) return;
  while (extending_.exchange(true, std::memory_order_acquire)) sched_yield();
  if (!released_.load(std::memory_order_acquire)) {
    const uint32_t classes = std::atomic_ref<hw_u32>(header()->classes).load(std::memory_order_acquire);
    const uint32_t used = slots();
    bool fine = write_at(HW_HEADER_BYTES, class_name(0), size_t{classes} * HW_LOCK_CLASS_BYTES);
    constexpr uint32_t kAtOnce = 32;
    std::array<hw_lock_slot, kAtOnce> copies{};
    for (uint32_t slot = 0; fine && slot < used; slot += kAtOnce) {
      const uint32_t count = std::min(kAtOnce, used - slot);
      for (uint32_t i = 0; i < count; ++i) copies[i] = slot_now(slot + i);
      fine = write_at(kSlotsAt + uint64_t{slot} * sizeof(hw_lock_slot), copies.data(), count * sizeof(hw_lock_slot));
    }
    // The header last: it says how many slots and classes there are.
    hw_lock_header head = header_now();
    head.slots = used;
    head.classes = classes;
    if (fine) write_at(0, &head, sizeof(head));
  }
  extending_.store(false, std::memory_order_release);
}

void LockTable::let_pages_go() const noexcept {
  if (through_ || released_.load(std::memory_order_relaxed)) return;
  madvise(base_ + kSlotsAt, limit_.load(std::memory_order_acquire) - kSlotsAt, MADV_DONTNEED);
}

void LockTable::release() noexcept {
  save();
  if (released_.exchange(true, std::memory_order_acq_rel)) return;
  while (extending_.exchange(true, std::memory_order_acquire)) sched_yield();  // extend() and save() use fd_
  if (!through_) {
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    look_at_file();
    if (replace_by_zeros(base_, limit)) {
      if (limit < map_bytes_) munmap(base_ + limit, map_bytes_ - limit);
      mapped_bytes_ = limit;
      guard_.let_go();
    }
  }
  if (same_file()) close(fd_);
  fd_ = -1;
  extending_.store(false, std::memory_order_release);
}

// --- slots -----------------------------------------------------------------------------------------------------------

uint32_t LockTable::slots() const noexcept { return next_.load(std::memory_order_acquire); }

// Free slots form a list through `spare`, which live ones don't use. The count of changes keeps a slot that was taken
// and given back meanwhile from being taken for the one that was seen.
uint32_t LockTable::pop_free() noexcept {
  uint64_t seen = free_.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(seen) != 0) {
    const auto slot = static_cast<uint32_t>(seen);
    const uint64_t next = std::atomic_ref<hw_u64>(at(slot).spare[0]).load(std::memory_order_relaxed);
    const uint64_t changed = ((seen >> 32) + 1) << 32 | static_cast<uint32_t>(next);
    if (free_.compare_exchange_weak(seen, changed, std::memory_order_acq_rel)) return slot;
  }
  return 0;
}

void LockTable::give_back(uint32_t slot) noexcept {
  {
    const Writing writing(at(slot));
    at(slot).kind = 0;
  }
  uint64_t seen = free_.load(std::memory_order_relaxed);
  do {
    std::atomic_ref<hw_u64>(at(slot).spare[0]).store(static_cast<uint32_t>(seen), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | slot, std::memory_order_acq_rel));
  short_.store(false, std::memory_order_relaxed);
}

uint32_t LockTable::next_slot(uint32_t bound) noexcept {
  uint32_t slot = next_.load(std::memory_order_relaxed);
  do {
    if (slot >= bound || !ensure_backed(kSlotsAt + uint64_t{slot + 1} * sizeof(hw_lock_slot))) return 0;
  } while (!next_.compare_exchange_weak(slot, slot + 1, std::memory_order_acq_rel, std::memory_order_relaxed));
  // For readers, hence a plain maximum; they skip slots of kind 0.
  std::atomic_ref<hw_u32> used(header()->slots);
  for (hw_u32 seen = used.load(std::memory_order_relaxed); seen < slot + 1;) {
    if (used.compare_exchange_weak(seen, slot + 1, std::memory_order_release)) break;
  }
  return slot;
}

uint32_t LockTable::take_slot() noexcept {
  if (const uint32_t slot = pop_free()) return slot;
  const uint32_t slot = next_slot(max_slots_ - std::min(kReservedSlots, max_slots_ / 8));
  if (slot == 0) short_.store(true, std::memory_order_relaxed);
  return slot;
}

uint32_t LockTable::take_reserved_slot() noexcept {
  const uint32_t slot = next_slot(max_slots_);
  return slot != 0 ? slot : pop_free();
}

void LockTable::open(uint32_t slot, const Facts& facts) noexcept {
  hw_lock_slot& it = at(slot);
  const Writing writing(it);
  // All but the sequence, and spare[0], which a thread that lost the slot to us in pop_free may still read.
  const size_t head = offsetof(hw_lock_slot, blocker_id);
  std::memset(reinterpret_cast<std::byte*>(&it) + head, 0, offsetof(hw_lock_slot, spare) - head);
  it.blocker_id = facts.blocker_id;
  it.identity_hash = facts.identity_hash;
  it.class_index = facts.class_index;
  it.kind = facts.kind;
  it.first_java_id = facts.first_java_id;
  it.first_stack_id = facts.first_stack_id;
  it.times_parked = facts.parked_before;
  if (!has_marked_slot()) guard_.give_up();
  uint32_t marked = marked_.load(std::memory_order_relaxed);
  while (marked < slot && !marked_.compare_exchange_weak(marked, slot, std::memory_order_release)) {
  }
}

void LockTable::set_kind(uint32_t slot, uint16_t kind) noexcept {
  const Writing writing(at(slot));
  at(slot).kind = kind;
}

bool LockTable::has_waits(uint32_t slot) noexcept {
  return std::atomic_ref(at(slot).times_measured).load(std::memory_order_relaxed) != 0;
}

int64_t LockTable::begin(uint32_t slot, int64_t now_ns, bool is_more) noexcept {
  hw_lock_slot& it = at(slot);
  const Writing writing(it);
  const int64_t time_ns = account(it, now_ns);
  const uint64_t waits = is_more ? 0 : 1;
  it.times_parked += waits;
  it.times_measured += waits;
  it.peak_parked = std::max(it.peak_parked, ++it.parked_now);
  return time_ns;
}

int64_t LockTable::end(uint32_t slot, int64_t now_ns) noexcept {
  hw_lock_slot& it = at(slot);
  const Writing writing(it);
  const int64_t time_ns = account(it, now_ns);
  if (it.parked_now > 0) --it.parked_now;
  return time_ns;
}

void LockTable::add_hold(uint32_t slot, int64_t hold_ns) noexcept {
  hw_lock_slot& it = at(slot);
  const Writing writing(it);
  ++it.holds;
  it.hold_ns += static_cast<uint64_t>(std::max<int64_t>(hold_ns, 0));
}

void LockTable::mark_dead(uint32_t slot) noexcept {
  const Writing writing(at(slot));
  at(slot).is_dead = 1;
}

bool LockTable::fold(uint32_t slot, uint32_t into) noexcept {
  hw_lock_slot from{};
  {
    const Writing writing(at(slot));
    if (at(slot).parked_now > 0) return false;
    from = copy_of(at(slot));
    at(slot).kind = 0;
  }
  {
    hw_lock_slot& sum = at(into);
    const Writing writing(sum);
    // Threads may block on it as well (see LockRecords::rest_of): their times come first.
    if (from.first_ns != 0) {
      account(sum, from.last_ns);
      sum.first_ns = std::min(sum.first_ns, from.first_ns);
    }
    ++sum.forgotten;
    sum.times_parked += from.times_parked;
    sum.times_measured += from.times_measured;
    sum.peak_parked = std::max(sum.peak_parked, from.peak_parked);
    sum.thread_time_ns += from.thread_time_ns;
    sum.real_time_ns += from.real_time_ns;
    sum.holds += from.holds;
    sum.hold_ns += from.hold_ns;
  }
  std::atomic_ref<hw_u32>(header()->forgotten).fetch_add(1, std::memory_order_relaxed);
  give_back(slot);
  return true;
}

void LockTable::close_times(int64_t now_ns) noexcept {
  const uint32_t used = slots();
  for (uint32_t slot = 1; slot < used; ++slot) {
    const Writing writing(at(slot));
    if (at(slot).parked_now > 0) account(at(slot), now_ns);
  }
}

hw_lock_slot LockTable::slot_now(uint32_t slot) const noexcept {
  const Writing writing(at(slot));
  return copy_of(at(slot));
}

// --- classes, counters -----------------------------------------------------------------------------------------------

uint32_t LockTable::class_index(std::string_view name) noexcept {
  size_t cut = HW_LOCK_CLASS_BYTES - 1;
  if (name.size() > cut) {  // before the first byte of a character
    while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80) --cut;
    name = name.substr(0, cut);
  }
  uint64_t place = hash_of(name);
  const auto find = [&]() -> uint32_t {
    for (;; ++place) {
      const uint32_t index = class_places_[static_cast<uint32_t>(place % kClassPlaces)].load(std::memory_order_acquire);
      if (index == 0 || name == class_name(index)) return index;
    }
  };
  if (const uint32_t index = find()) return index;
  classes_lock_.lock();
  uint32_t index = find();
  if (index == 0 && classes_ < HW_LOCK_CLASSES) {
    index = classes_++;
    std::memcpy(class_name(index), name.data(), name.size());
    class_places_[static_cast<uint32_t>(place % kClassPlaces)].store(static_cast<uint16_t>(index),
                                                                     std::memory_order_release);
    std::atomic_ref<hw_u32>(header()->classes).store(classes_, std::memory_order_release);
  }
  classes_lock_.unlock();
  return index;
}

void LockTable::add(hw_u64 hw_lock_header::*counter, hw_u64 count) noexcept {
  std::atomic_ref<hw_u64>(header()->*counter).fetch_add(count, std::memory_order_relaxed);
}

void LockTable::set_capped(int64_t now_ns) noexcept {
  std::atomic_ref<hw_i64>(header()->capped_ns).store(now_ns, std::memory_order_relaxed);
}

void LockTable::set_updated(int64_t now_ns, uint64_t threads_parked) noexcept {
  std::atomic_ref<hw_u64>(header()->threads_parked).store(threads_parked, std::memory_order_relaxed);
  std::atomic_ref<hw_i64>(header()->updated_ns).store(now_ns, std::memory_order_relaxed);
  look_at_file();
}

}  // namespace headway::agent
