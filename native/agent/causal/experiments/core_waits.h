// How long threads of the program wait for a core: the kernel's /proc/self/task/TID/schedstat.
#pragma once

#include <array>
#include <cstdint>

namespace headway::agent::causal {

// Between begin() and end(): how long threads stood in a queue for a core, and how many wanted one.
class CoreWaits {
 public:
  void begin() noexcept;
  void end() noexcept;
  // Between begin and end, of the threads that were there at both; of 32 of them, where there are more.
  int64_t waited_ns() const noexcept { return waited_ns_; }
  // How many threads at a time ran or wanted to, on an average; an estimate for all of them.
  double runnable() const noexcept { return runnable_; }

 private:
  static constexpr uint32_t kMostThreads = 32;
  struct Thread {
    uint32_t tid;
    int64_t ran_ns;
    int64_t waited_ns;
  };
  std::array<Thread, kMostThreads> threads_{};
  uint32_t count_ = 0;
  int64_t begin_ns_ = 0;
  int64_t waited_ns_ = 0;
  double runnable_ = 0;
};

}  // namespace headway::agent::causal
