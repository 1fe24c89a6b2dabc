// The word of a Java thread that the JVM marks when it wants the thread to stop, for a safepoint or a handshake:
// compiled code and the interpreter look at it all the time. Who holds a thread up in the middle of Java code has to as
// well.
//
// HotSpot tells nobody where it is (SafepointMechanism::ThreadData in safepointMechanism.hpp has no entry in
// vmStructs). But it looks like nothing else in a JavaThread: at rest it is ~1, and the word behind it is the address
// of a page, the same in all threads. Found so on JDK 17 and 25, which have it at different places; where it is not, it
// is unknown.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headway::agent {

// Where a JavaThread has that word: found once by looking at the threads that there are.
class StopWord {
 public:
  static constexpr size_t kBytes = 2048;  // of a JavaThread, that are looked through

  // `threads`: java.lang.Thread.eetop of threads that live, or have just ended. False: unknown. Not in a signal
  // handler.
  bool find(std::span<const int64_t> threads) noexcept;
  // Null: unknown. The word lives as long as its thread.
  const std::atomic<uintptr_t>* of(int64_t thread) const noexcept;
  static bool is_marked(const std::atomic<uintptr_t>* word) noexcept {
    return word != nullptr && (word->load(std::memory_order_relaxed) & 1) != 0;
  }

 private:
  std::atomic<int64_t> offset_{-1};
};

}  // namespace headway::agent
