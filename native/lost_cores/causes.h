// Made from src/headway/analyses/common/causes.py by scripts/make_shared.py (make reference): change that, not this file.
#pragma once

#include <cstdint>

namespace headway {

enum class Cause : uint8_t {
  kSerial,
  kLock,
  kImbalance,
  kStarved,
  kFull,
  kGc,
  kSafepoint,
  kJit,
  kSleep,
  kIo,
  kFew,
  kScheduler,
  kQuota,
  kStart,
  kEnd,
  kCarriers,
  kCondition,
  kOthersWait,
  kBlocked,
  kUnknown,
  kIdle
};
constexpr int kCauses = 21;

}  // namespace headway
