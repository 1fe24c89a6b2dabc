#include "decode/lock_tables/kernel_wakers.h"

#include <algorithm>
#include <new>

namespace headway {
namespace {

// Like every closed block, a closed acquisition ends where the thread went on; clipped ones do not.
bool has_end(const hw_block& block, const JvmThreads& jvm) {
  return (block.flags & HW_BL_OPEN) == 0 && block.head.ts_ns <= jvm.close_ns();
}

// The thread that the kernel saw blocked: a virtual thread has one only while it keeps its carrier.
int32_t thread_that_slept(const hw_block& block, const JvmThreads& jvm) {
  if ((block.flags & HW_BL_VIRTUAL) == 0) return jvm.of_block(block);
  return (block.flags & HW_BL_PINNED) != 0 ? jvm.of_tid(block.head.tid, block.head.ts_ns) : kNoThread;
}

constexpr int32_t kInterrupt = -1, kOutside = -2;

template <typename T>
T* zeroed(uint64_t count) {
  void* memory = std::calloc(std::max<uint64_t>(count, 1), sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

}  // namespace

KernelWakers::KernelWakers(const std::vector<LockFile>& files, const std::vector<JvmThreads>& jvms,
                           const LockBlockers& blockers, const std::vector<int64_t>& java_of_thread)
    : jvms_(jvms),
      blockers_(blockers),
      java_of_thread_(java_of_thread),
      cursor_(files),
      more_(cursor_.next()),
      blocks_(java_of_thread.size()),
      held_(blockers.size()) {
  for (const LockFile& file : files) rows_ += file.records.blocks.size();
  waking_ns_.reset(zeroed<int64_t>(rows_));
  waker_.reset(zeroed<int32_t>(rows_));
}

bool KernelWakers::is_java(int32_t thread) const {
  return thread >= 0 && static_cast<size_t>(thread) < java_of_thread_.size() &&
         java_of_thread_[static_cast<size_t>(thread)] >= 0;
}

void KernelWakers::on_waking(uint32_t thread, int64_t ts_ns, int32_t waker, bool irq) {
  admit(ts_ns);
  Block* block = block_of(thread, ts_ns);
  if (block == nullptr) return;
  if (block->wants_waker) {
    int64_t& waking_ns = waking_ns_.get()[block->row];
    int32_t& known = waker_.get()[block->row];
    const bool is_likely = irq || is_java(waker);
    if (is_likely || waking_ns == 0 || (known != kInterrupt && !is_java(known))) {
      waking_ns = std::max<int64_t>(ts_ns, 1);
      known = irq ? kInterrupt : std::max(waker, kOutside);
    }
  }
  if (block->monitor >= 0 && !irq && waker >= 0) release(block->monitor, waker, ts_ns);
}

void KernelWakers::on_unseen_waking(uint32_t thread, int64_t ts_ns) {
  admit(ts_ns);
  const Block* block = block_of(thread, ts_ns);
  if (block == nullptr || !block->wants_waker) return;
  waking_ns_.get()[block->row] = 0;
  waker_.get()[block->row] = 0;
}

KernelWakers::Block* KernelWakers::block_of(uint32_t thread, int64_t ts_ns) {
  if (thread >= blocks_.size()) return nullptr;
  Block& block = blocks_[thread];
  return block.row == UINT64_MAX || ts_ns > block.end_ns ? nullptr : &block;
}

// Lets the blocks begin that began until then.
void KernelWakers::admit(int64_t until_ns) {
  while (more_ && (!cursor_.is_valid() || cursor_.record().start_ns <= until_ns)) {
    if (cursor_.is_valid()) begin_block(cursor_.record(), cursor_.file(), cursor_.row());
    more_ = cursor_.next();
  }
}

void KernelWakers::begin_block(const hw_block& block, uint32_t file, uint64_t row) {
  const JvmThreads& jvm = jvms_[file];
  const int32_t thread = thread_that_slept(block, jvm);
  const int32_t blocker = blockers_.row_of(file, block.blocker_id);
  const int32_t monitor = blocker < 0 ? -1 : blockers_.monitor_of(blocker);
  const bool is_closed = has_end(block, jvm);
  if (monitor >= 0 && block.kind == HW_BK_MONITOR) {
    apply_acquisitions(block.start_ns);
    Held& held = held_[static_cast<size_t>(monitor)];
    if (thread >= 0 && held.thread == thread) held.thread = kNoThread;  // it has let go, and nobody saw when
    if (is_closed) {
      coming_.push({block.head.ts_ns, monitor, thread, block.java_id, file, (block.flags & HW_BL_VIRTUAL) != 0});
    }
    ++held.queued;
  }
  if (thread < 0 || static_cast<size_t>(thread) >= blocks_.size()) return;
  const bool wants_waker = is_closed && block.waking_ns == 0;
  blocks_[static_cast<size_t>(thread)] = {row, block.head.ts_ns, monitor, wants_waker};
}

void KernelWakers::apply_acquisitions(int64_t until_ns) {
  while (!coming_.empty() && coming_.top().ns <= until_ns) {
    const Acquisition& got = coming_.top();
    Held& held = held_[static_cast<size_t>(got.monitor)];
    --held.queued;
    // With nobody queued, its release wakes nobody: the next waking would be the release of some later acquisition.
    held.thread = held.queued > 0 ? got.thread : kNoThread;
    held.since_ns = got.ns;
    held.java_id = got.java_id;
    held.file = got.file;
    held.is_virtual = got.is_virtual;
    coming_.pop();
  }
}

void KernelWakers::release(int32_t monitor, int32_t waker, int64_t ts_ns) {
  apply_acquisitions(ts_ns);
  Held& held = held_[static_cast<size_t>(monitor)];
  if (ts_ns <= held.since_ns) return;
  if (held.thread != waker) {
    if (is_java(waker)) held.thread = kNoThread;  // the waker had it meanwhile
    return;
  }
  const int32_t thread = held.is_virtual ? kNoThread : held.thread;
  holds_.push_back({held.since_ns, ts_ns, monitor, thread, held.java_id, held.file});
  held.thread = kNoThread;
}

void KernelWakers::finish() {
  std::sort(holds_.begin(), holds_.end(),
            [](const WakingHold& a, const WakingHold& b) { return a.start_ns < b.start_ns; });
}

}  // namespace headway
