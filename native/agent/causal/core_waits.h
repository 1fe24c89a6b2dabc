// How long threads of the program wait for a core: the kernel's /proc/self/task/TID/schedstat.
#pragma once

#include <array>
#include <cstdint>

namespace headway::agent::causal {

class CoreWaits {
 public:
  void begin() noexcept;
  void end() noexcept;
  // Between begin and end, of the threads that were there at both; of 32 of them, where there are more.
  int64_t waited_ns() const noexcept { return waited_ns_; }
  // Of the time that threads ran or wanted to.
  double waited_share() const noexcept {
    return ran_ns_ + waited_ns_ > 0 ? static_cast<double>(waited_ns_) / static_cast<double>(ran_ns_ + waited_ns_) : 0;
  }

 private:
  static constexpr uint32_t kMostThreads = 32;
  struct Thread {
    uint32_t tid;
    int64_t ran_ns;
    int64_t waited_ns;
  };
  std::array<Thread, kMostThreads> threads_{};
  uint32_t count_ = 0;
  int64_t ran_ns_ = 0;
  int64_t waited_ns_ = 0;
};

}  // namespace headway::agent::causal
