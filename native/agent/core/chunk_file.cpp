#include "agent/core/chunk_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "agent/core/backed_file.h"
#include "agent/core/old_glibc.h"
#include "agent/core/spin.h"

namespace headway::agent {
namespace {

constexpr uint64_t kSmallestMap = 4ULL << 20;
constexpr uint32_t kWorthRetiring = 512;  // bytes left in a chunk that make it worth handing on
constexpr int kNames = 1000;              // agent-<pid>.2.spool ... .1000.spool

std::atomic<uint64_t> next_file_id{1};

int64_t now_ns(clockid_t clock) {
  timespec ts{};
  clock_gettime(clock, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

}  // namespace

ChunkFile::~ChunkFile() {
  guard_.forget();
  if (base_ != nullptr) munmap(base_, map_bytes_);
  if (fd_ >= 0) close(fd_);
}

bool ChunkFile::create(const std::string& directory, pid_t pid, bool no_map, uint64_t map_bytes) noexcept {
  map_bytes = std::min(map_bytes, file_size_limit());
  if (map_bytes < HW_HEADER_BYTES + kSegmentBytes || !open_file(directory, pid)) return false;
  const int error = allocate_space(fd_, 0, HW_HEADER_BYTES + kSegmentBytes);
  through_ = no_map || must_write_through(fd_, error) || !FileGuard::install();
  if ((error != 0 && !through_) || !map_file(map_bytes)) {
    discard();
    return false;
  }
  longest_ = map_bytes_;
  next_.store(HW_HEADER_BYTES, std::memory_order_relaxed);
  limit_.store(through_ ? map_bytes_ : HW_HEADER_BYTES + kSegmentBytes, std::memory_order_release);
  write_header(pid);
  if (full_.load(std::memory_order_relaxed)) {  // through_: not even the header could be written
    discard();
    return false;
  }
  id_ = next_file_id.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool ChunkFile::open_file(const std::string& directory, pid_t pid) noexcept {
  const std::string stem = directory + "/agent-" + std::to_string(pid);
  for (int n = 1; n <= (opens_existing_ ? 1 : kNames); ++n) {
    path_ = n == 1 ? stem + ".spool" : stem + "." + std::to_string(n) + ".spool";
    const int how = opens_existing_ ? O_NONBLOCK : O_CREAT | O_EXCL;
    fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | how, 0600);
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  struct stat status {};
  if (fd_ < 0 || file_status(fd_, &status) != 0) return false;
  const bool is_new =
      S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1 && status.st_size == 0;
  if (opens_existing_ && !is_new) {
    close(fd_);
    fd_ = -1;
    return false;
  }
  dev_ = status.st_dev;
  ino_ = status.st_ino;
  return true;
}

bool ChunkFile::map_file(uint64_t map_bytes) noexcept {
  // Address space only: pages past `limit_` are never touched. Where it is scarce (ulimit -v), less will do.
  for (map_bytes_ = map_bytes; map_bytes_ >= std::min(kSmallestMap, map_bytes); map_bytes_ /= 2) {
    const int flags = through_ ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
    void* at = mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, flags, through_ ? -1 : fd_, 0);
    if (at != MAP_FAILED) {
      base_ = static_cast<std::byte*>(at);
      break;
    }
  }
  if (base_ == nullptr) return false;
  // A core dump of the JVM must not grow by the spool.
  madvise(base_, map_bytes_, MADV_DONTDUMP);
  if (through_) {
    written_.store(HW_HEADER_BYTES, std::memory_order_relaxed);
    return ftruncate(fd_, HW_HEADER_BYTES) == 0;
  }
  return guard_.watch(base_, HW_HEADER_BYTES + kSegmentBytes, &cut_, &header()->stop);
}

void ChunkFile::write_header(pid_t pid) noexcept {
  hw_spool_header* head = header();
  head->version = HW_SPOOL_VERSION;
  head->source = HW_SOURCE_AGENT;
  head->producer = HW_PRODUCER_AGENT;
  head->pid = static_cast<hw_u32>(pid);
  head->created_ns = now_ns(CLOCK_MONOTONIC);
  head->realtime_ns = now_ns(CLOCK_REALTIME);
  head->chunk_bytes = kChunkBytes;
  head->next_chunk = HW_HEADER_BYTES;
  head->limit_bytes = limit_.load(std::memory_order_relaxed);
  // Last, so that a header with its magic is whole.
  uint64_t magic = 0;
  std::memcpy(&magic, HW_SPOOL_MAGIC, sizeof(magic));
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(head->magic)).store(magic, std::memory_order_release);
  write_through(0, head, sizeof(*head));
}

void ChunkFile::discard() noexcept {
  guard_.forget();
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
  fd_ = -1;
}

bool ChunkFile::recording() const noexcept {
  if (released_.load(std::memory_order_relaxed)) return false;
  if (through_) [[unlikely]]
    look_at_file();
  return std::atomic_ref<hw_u32>(header()->stop).load(std::memory_order_relaxed) == 0;
}

// Where nothing is mapped, what the recorder wrote into the header is read now and then.
void ChunkFile::look_at_file() const noexcept {
  const int64_t now = now_ns(CLOCK_MONOTONIC);
  int64_t before = looked_ns_.load(std::memory_order_relaxed);
  if (now - before < kLookEveryNs || !looked_ns_.compare_exchange_strong(before, now)) return;
  hw_spool_header seen{};
  if (!same_file()) {
    std::atomic_ref<hw_u32>(header()->stop).store(1, std::memory_order_relaxed);  // no way to write, or to be told
  } else if (pread(fd_, &seen, sizeof(seen), 0) < static_cast<ssize_t>(sizeof(seen)) ||
             std::memcmp(seen.magic, header()->magic, sizeof(seen.magic)) != 0 || !is_whole(written_.load())) {
    give_up();
  } else if (seen.stop != 0) {
    std::atomic_ref<hw_u32>(header()->stop).store(seen.stop, std::memory_order_relaxed);
  }
}

// Where the chunk has no room, or there is none yet.
void* ChunkFile::begin_chunk(ThreadSlot& slot, uint32_t bytes) noexcept {
  if (slot.busy || bytes > kChunkBytes - sizeof(hw_agent_chunk)) {
    count_lost();
    return nullptr;
  }
  slot.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (slot.file_id != id_) {
    slot.offset = 0;
    slot.file_id = id_;
  }
  if (slot.offset == 0 || slot.used + bytes > kChunkBytes) {
    if (slot.offset != 0) let_chunk_go(slot.offset);
    slot.offset = take_retired(bytes);
    if (slot.offset != 0) {
      slot.used = chunk_at(slot.offset)->used;
    } else if ((slot.offset = take_chunk()) != 0) {
      hw_agent_chunk* chunk = chunk_at(slot.offset);
      chunk->head = {now_ns(CLOCK_MONOTONIC), HW_AGENT_CHUNK, 0, slot.tid};
      slot.used = sizeof(hw_agent_chunk);
      std::atomic_ref<hw_u32>(chunk->used).store(slot.used, std::memory_order_release);
      write_through(slot.offset, chunk, sizeof(*chunk));
      // Where the disk is full the chunk is not in the file, which is none the shorter for it.
      if (!full_.load(std::memory_order_relaxed)) mark_chunk(slot.offset);
    } else {
      slot.busy = false;
      count_lost();
      return nullptr;
    }
  }
  return base_ + slot.offset + slot.used;
}

void ChunkFile::retire(ThreadSlot& slot) noexcept {
  const uint64_t offset = slot.offset;
  const bool ours = slot.file_id == id_ && offset != 0 && kChunkBytes - slot.used >= kWorthRetiring;
  slot.offset = 0;
  for (size_t i = 0; ours && i < retired_.size(); ++i) {
    uint64_t none = 0;
    if (retired_[i].compare_exchange_strong(none, offset, std::memory_order_acq_rel)) return;
  }
  if (slot.file_id == id_ && offset != 0) let_chunk_go(offset);
}

uint64_t ChunkFile::take_retired(uint32_t bytes) noexcept {
  for (auto& place : retired_) {
    if (place.load(std::memory_order_relaxed) == 0) continue;
    const uint64_t offset = place.exchange(0, std::memory_order_acq_rel);
    if (offset != 0 && chunk_at(offset)->used <= kChunkBytes - bytes) return offset;
    if (offset != 0) let_chunk_go(offset);
  }
  return 0;
}

// Without a mapping what has been written is in memory as well, and would stay there: up to the file's longest.
void ChunkFile::let_chunk_go(uint64_t offset) const noexcept {
  if (through_) madvise(base_ + offset, kChunkBytes, MADV_DONTNEED);
}

uint64_t ChunkFile::take_chunk() noexcept {
  if (full_.load(std::memory_order_relaxed)) return 0;
  const uint64_t offset = next_.fetch_add(kChunkBytes, std::memory_order_relaxed);
  const uint64_t end = offset + kChunkBytes;
  if (!ensure_backed(end)) return 0;
  // For readers only, hence a plain maximum; they skip chunks whose `used` is still 0.
  std::atomic_ref<hw_u64> next(header()->next_chunk);
  for (hw_u64 seen = next.load(std::memory_order_relaxed); seen < end;) {
    if (next.compare_exchange_weak(seen, end, std::memory_order_relaxed)) break;
  }
  write_through(offsetof(hw_spool_header, next_chunk), &end, sizeof(end));
  return offset;
}

bool ChunkFile::ensure_backed(uint64_t end) noexcept {
  if (end + kSegmentBytes / 2 <= limit_.load(std::memory_order_acquire)) return true;
  if (through_) return end <= map_bytes_;
  // Allocate half a segment ahead of need, by whoever comes first; the others go on meanwhile.
  Backoff backoff;
  for (int tries = 0; tries < 400; ++tries) {  // some 15 ms of naps at most
    if (!extending_.exchange(true, std::memory_order_acquire)) {
      if (end + kSegmentBytes / 2 > limit_.load(std::memory_order_relaxed) && !extend()) full_.store(true);
      extending_.store(false, std::memory_order_release);
    }
    if (end <= limit_.load(std::memory_order_acquire)) return true;
    if (full_.load(std::memory_order_relaxed)) return false;
    backoff.pause();  // rare: a whole half segment was used up while another thread waits for the file system
  }
  return false;
}

bool ChunkFile::extend() noexcept {
  const uint64_t limit = limit_.load(std::memory_order_relaxed);
  if (released_.load(std::memory_order_acquire)) return false;
  if (limit + kSegmentBytes > map_bytes_ || !is_whole(limit) || allocate_space(fd_, limit, kSegmentBytes) != 0)
    return false;
  bring_into_memory(fd_, limit, kSegmentBytes);
  header()->limit_bytes = limit + kSegmentBytes;
  guard_.grow(limit + kSegmentBytes);
  limit_.store(limit + kSegmentBytes, std::memory_order_release);
  return true;
}

// A program that closes descriptors it does not own may have given our number to a file of its own: never touch that.
bool ChunkFile::same_file() const noexcept {
  struct stat status {};
  return file_status(fd_, &status) == 0 && status.st_dev == dev_ && status.st_ino == ino_;
}

// Ours, and as long as it was. What is cut off and grows again is lost all the same, so nothing is added to it.
bool ChunkFile::is_whole(uint64_t bytes) const noexcept {
  struct stat status {};
  if (file_status(fd_, &status) != 0 || status.st_dev != dev_ || status.st_ino != ino_) return false;
  if (cut_.load(std::memory_order_acquire)) return false;
  if (static_cast<uint64_t>(status.st_size) >= bytes && has_marked_chunk()) return true;
  give_up();
  return false;
}

void ChunkFile::mark_chunk(uint64_t offset) noexcept {
  if (!has_marked_chunk()) give_up();
  uint64_t marked = marked_.load(std::memory_order_relaxed);
  while (marked < offset && !marked_.compare_exchange_weak(marked, offset, std::memory_order_release)) {
  }
}

// False where the file was cut off and has grown again: by us, who were just about to make room.
bool ChunkFile::has_marked_chunk() const noexcept {
  const uint64_t marked = marked_.load(std::memory_order_acquire);
  if (marked == 0) return true;
  hw_record head{};
  if (!through_) {
    head.type = std::atomic_ref<hw_u16>(chunk_at(marked)->head.type).load(std::memory_order_relaxed);
  } else if (pread(fd_, &head, sizeof(head), static_cast<off_t>(marked)) != sizeof(head)) {
    return false;
  }
  return head.type == HW_AGENT_CHUNK;
}

// The file was cut off: no more records.
void ChunkFile::give_up() const noexcept {
  full_.store(true, std::memory_order_relaxed);
  if (through_) {
    cut_.store(true, std::memory_order_release);
    std::atomic_ref<hw_u32>(header()->stop).store(1, std::memory_order_relaxed);
  } else {
    guard_.give_up();
  }
}

void ChunkFile::write_through(uint64_t offset, const void* data, size_t bytes) noexcept {
  if (!through_ || released_.load(std::memory_order_relaxed) || full_.load(std::memory_order_relaxed)) return;
  uint64_t written = written_.load(std::memory_order_relaxed);
  if (!same_file() || pwrite(fd_, data, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) {
    full_.store(true, std::memory_order_relaxed);
    return;
  }
  while (written < offset + bytes && !written_.compare_exchange_weak(written, offset + bytes)) {
  }
}

void ChunkFile::count_lost() noexcept {
  const hw_u64 lost = std::atomic_ref<hw_u64>(header()->lost).fetch_add(1, std::memory_order_relaxed) + 1;
  if (through_ && !released_.load(std::memory_order_relaxed) && !lost_unreported_.load(std::memory_order_relaxed)) {
    tell_lost(lost);
  }
}

// Inside the header, which exists already: works on a full disk too, but for btrfs, which takes milliseconds to say no.
// So it is not asked again until the end.
void ChunkFile::tell_lost(hw_u64 lost) noexcept {
  const bool is_written =
      same_file() && pwrite(fd_, &lost, sizeof(lost), offsetof(hw_spool_header, lost)) == sizeof(lost);
  if (!is_written) lost_unreported_.store(true, std::memory_order_relaxed);
}

uint64_t ChunkFile::lost() const noexcept {
  return std::atomic_ref<hw_u64>(header()->lost).load(std::memory_order_relaxed);
}

void ChunkFile::let_pages_go() const noexcept {
  if (through_ || released_.load(std::memory_order_relaxed)) return;  // then the memory is all there is
  const uint64_t end = std::min(next_.load(std::memory_order_relaxed), limit_.load(std::memory_order_acquire));
  if (end > HW_HEADER_BYTES) madvise(base_ + HW_HEADER_BYTES, end - HW_HEADER_BYTES, MADV_DONTNEED);
}

// As tell_lost: also where the disk is full.
void ChunkFile::tell_end(hw_u32 end) noexcept {
  std::atomic_ref<hw_u32>(header()->end).store(end, std::memory_order_release);
  const bool is_cut = cut_.load(std::memory_order_acquire);
  if (!through_ && !is_cut) return;
  struct stat status {};
  if (!same_file() || file_status(fd_, &status) != 0 || status.st_size < HW_HEADER_BYTES) return;
  if (is_cut) end = HW_CLOSE_CUT;
  // Refused: the recorder waits in vain for a moment.
  [[maybe_unused]] const ssize_t written = pwrite(fd_, &end, sizeof(end), offsetof(hw_spool_header, end));
}

void ChunkFile::release() noexcept {
  if (released_.exchange(true, std::memory_order_acq_rel)) return;
  while (extending_.exchange(true, std::memory_order_acquire)) sched_yield();  // extend() uses fd_
  is_whole(through_ ? written_.load() : limit_.load());
  if (through_) {
    if (lost_unreported_.load(std::memory_order_relaxed)) tell_lost(lost());
    tell_end(HW_CLOSE_DONE);
    // A thread may be on its way into pwrite: its descriptor must not become another file's. Point it at nothing.
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0 && same_file()) dup3(nothing, fd_, O_CLOEXEC);
    if (nothing >= 0) close(nothing);
  } else {
    tell_end(HW_CLOSE_DONE);
    // Stores stay below limit_, which no longer grows.
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    if (replace_by_zeros(base_, limit)) {
      munmap(base_ + limit, map_bytes_ - limit);
      map_bytes_ = limit;
      guard_.let_go();
    }
    if (same_file()) close(fd_);
    fd_ = -1;
  }
  extending_.store(false, std::memory_order_release);
}

}  // namespace headway::agent
