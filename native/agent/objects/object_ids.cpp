#include "agent/objects/object_ids.h"

#include <sys/mman.h>

namespace headway::agent {
namespace {

constexpr size_t kBytes = size_t{ObjectIds::kIds} + ObjectIds::kIds / ObjectIds::kChunk + 2 * sizeof(uint64_t);

}  // namespace

ObjectIds::~ObjectIds() {
  if (writers_ != nullptr) munmap(writers_, kBytes);
}

bool ObjectIds::start() noexcept {
  const std::lock_guard locked(mutex_);
  if (writers_ != nullptr) return true;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (at == MAP_FAILED) return false;
  madvise(at, kBytes, MADV_NOHUGEPAGE);  // or each object that another thread writes to could cost 2 MB
  writers_ = static_cast<uint8_t*>(at);
  return true;
}

uint32_t ObjectIds::take_chunk(uint8_t owner) noexcept {
  const std::lock_guard locked(mutex_);
  if (owner < left_.size() && !left_[owner].empty()) {
    const uint32_t left = left_[owner].back();
    left_[owner].pop_back();
    return left;
  }
  if (writers_ == nullptr || next_ >= kIds) return 0;
  const uint32_t first = next_;
  next_ += kChunk;
  allocators()[first / kChunk] = owner;
  __atomic_store_n(given_word(), next_, __ATOMIC_RELEASE);
  return first;
}

void ObjectIds::give_back(uint8_t owner, uint32_t next) noexcept {
  const std::lock_guard locked(mutex_);
  if (owner < left_.size() && next % kChunk != 0) left_[owner].push_back(next);
}

uint32_t ObjectIds::given() const noexcept {
  const std::lock_guard locked(mutex_);
  return next_;
}

void ObjectIds::note_unnoted() noexcept {
  if (writers_ != nullptr) __atomic_store_n(unnoted(), uint8_t{1}, __ATOMIC_RELAXED);
}

bool ObjectIds::has_unnoted() const noexcept {
  return writers_ != nullptr && __atomic_load_n(unnoted(), __ATOMIC_RELAXED) != 0;
}

}  // namespace headway::agent
