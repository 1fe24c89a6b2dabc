// Whether locks are being recorded, and the way to stop that at once, on any thread.
#pragma once

#include <jvmti.h>

#include <atomic>
#include <cstdint>

namespace headway::agent {

// Shared by the threads that turn the recording of locks on, look after it, and end it. Never destroyed.
struct LockSwitch {
  jrawMonitorID monitor = nullptr;      // one thread turns on or takes out at a time; the service thread sleeps in it
  std::atomic<bool> active{false};      // records are being written
  std::atomic<bool> dying{false};       // the JVM: no class is retransformed any more
  std::atomic<uint32_t> generation{0};  // counts recordings: a service thread of an older one ends
};
LockSwitch& lock_switch() noexcept;

// No more lock records: those still going on are written as open. Any thread, any phase; needs the file still open.
void silence_locks() noexcept;

}  // namespace headway::agent
