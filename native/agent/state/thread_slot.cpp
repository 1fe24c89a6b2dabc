#include "agent/state/thread_slot.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace headway::agent {
namespace {

// Both in one: a park that is recorded touches the same line of the cache for both.
constinit thread_local LockThread lock_thread;

}  // namespace

LockThread& this_lock_thread() noexcept {
  LockThread& mine = lock_thread;
  if (mine.place.tid == 0) mine.place.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  return mine;
}

ThreadSlot& this_thread() noexcept { return this_lock_thread().place; }

}  // namespace headway::agent
