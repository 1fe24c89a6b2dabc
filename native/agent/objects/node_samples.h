// On which memory node threads read and write objects: sums of samples, each with the node of the CPU that makes the access
// and that of the page to which it goes.
//
// Knows nothing of the JVM.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "agent/objects/owner_rules.h"
#include "agent/objects/random_gap.h"
#include "wire/records.h"

namespace headway::agent {

class NodeSamples {
 public:
  static constexpr uint32_t kMeanGap = 1000;     // one access in so many is sampled
  static constexpr size_t kMostRows = 1U << 16;  // sums that are told apart; later ones are of many threads together
  static constexpr size_t kFullRows = 3U << 15;  // sums at all

  // An access of which it is asked where it goes. `owners`: the ids of the object's owners by each rule, 0: unknown.
  // `accesses`: how many of its thread, class and kind it stands for, itself included.
  struct Access {
    uint64_t java_id = 0;
    uint32_t class_id = 0;
    uint16_t kind = 0;
    std::array<uint64_t, kOwnerRules> owners{};
    uint64_t address = 0;
    uint64_t accesses = 0;
  };
  // What only one thread uses.
  struct Thread {
    explicit Thread(uint64_t seed) noexcept : gaps(seed) {}
    RandomSeries gaps;
    // Whose page was not there yet, or was on its way, when it was asked for; it is asked once more with the next one.
    Access open{};
    uint16_t open_cpu_node = 0;
    bool has_open = false;
  };

  // By which rules accesses have owners.
  void start(OwnerRules rules) noexcept { rules_ = rules; }

  uint64_t next_gap(Thread& thread) const noexcept { return random_gap(thread.gaps, kMeanGap); }
  // Asks where the access goes, from the CPU on which this thread runs.
  void note(Thread& thread, const Access& access) noexcept;
  // The thread ends, or is not asked any more: what is open is unknown.
  void end_thread(Thread& thread) noexcept;

  // Hands on all sums that have changed since, by output(hw_access_nodes); returns how many.
  template <typename Output>
  uint32_t write_changed(Output output) noexcept {
    const std::lock_guard locked(mutex_);
    uint32_t written = 0;
    for (auto& [key, sums] : sums_) {
      if (sums.samples == sums.handed_on) continue;
      sums.handed_on = sums.samples;
      output(record_of(key, sums));
      ++written;
    }
    return written;
  }

  // Times that the kernel did not answer at all, as where a container forbids the call.
  uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  uint64_t left_out() const noexcept { return left_out_.load(std::memory_order_relaxed); }

 private:
  // The record's type, java_id, class or owner, kind, the CPU's node, the page's node.
  using Key = std::tuple<uint16_t, uint64_t, uint64_t, uint16_t, uint16_t, uint16_t>;
  struct Sums {
    uint64_t samples = 0, accesses = 0, handed_on = 0;
  };

  void add(const Access& access, uint16_t cpu_node, uint16_t page_node) noexcept;
  void add_to(Key key, const Access& access) noexcept;
  static hw_access_nodes record_of(const Key& key, const Sums& sums) noexcept;

  OwnerRules rules_{};
  std::mutex mutex_;
  std::map<Key, Sums> sums_;
  std::atomic<uint64_t> refused_{0}, left_out_{0};
};

}  // namespace headway::agent
