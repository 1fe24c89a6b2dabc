// Survives a mapped file that another process truncates, which would end the JVM. A store to a mapped page behind the
// end of its file, or to one that the disk can't give, is a SIGBUS. The handler that is installed here takes those of the agent's own
// mappings, and them only: it puts anonymous memory where the mapping was, notes that the file was cut, and the thread
// goes on. Every other SIGBUS goes to the handler that was there before, with its mask, flags and arguments as they
// are.
//
// A record costs nothing for it. The handler is there only while a file is mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headway::agent {

// One mapping that is looked after. Any thread, one call at a time.
class FileGuard {
 public:
  FileGuard() = default;
  ~FileGuard() { forget(); }
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;

  // Installs the handler where it is not there yet. False where it can't be: then a file must not be mapped.
  static bool install() noexcept;

  // Looks after `bytes` from `at` on, page by page. When its file turns out to be cut, `cut` becomes true, then memory
  // of zeros is put there in which the word at `stop_at` (nullptr: none) is 1. False: too many are looked after.
  bool watch(std::byte* at, uint64_t bytes, std::atomic<bool>* cut, const uint32_t* stop_at) noexcept;
  // So much of it may be stored to from now on.
  void grow(uint64_t bytes) noexcept;
  // The memory is no file's any more, and stays where it is. A fault that is on its way is still taken.
  void let_go() noexcept;
  // The memory is about to be given back, or never came to be.
  void forget() noexcept;

  // Puts memory of zeros there as if a fault had found the file cut.
  void give_up() noexcept;

  static uint64_t faults() noexcept;  // taken so far, in all
  static bool is_installed() noexcept;

 private:
  int place_ = -1;
  bool is_live_ = false;
};

}  // namespace headway::agent
