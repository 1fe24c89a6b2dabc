// The columns of the table `slice` as they are stored (src/headway/store/packing.py), for what passes over them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway {

// Bits of the column `flags`.
enum SliceFlags : uint8_t {
  kBlockedStateMask = 3,  // BlockedState
  kWakerIrq = 4,
  kIsOpen = 8,
  kRunnableUnknown = 16,
  kStolenUnknown = 32,
};
enum BlockedState : uint8_t { kNotBlocked = 0, kSleeping = 1, kUninterruptible = 2, kStopped = 3 };

// All of `rows` values; times are in ticks, whose length each user has beside them.
struct StoredSlices {
  size_t rows = 0;
  const int64_t* end_ticks = nullptr;
  const int64_t* running_ticks = nullptr;
  const int64_t* runnable_ticks = nullptr;
  const int64_t* blocked_ticks = nullptr;
  const int64_t* stolen_ticks = nullptr;
  const int32_t* thread_id = nullptr;
  const int32_t* waker_id = nullptr;
  const uint8_t* flags = nullptr;
  const uint8_t* blocked_in = nullptr;  // may be absent
};

}  // namespace headway
