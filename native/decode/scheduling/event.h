// One record of any source as the merge hands it to the state machine: 40 bytes, whatever its size in the spool.
#pragma once

#include <cstdint>

namespace headway {

enum class EventType : uint8_t { kLife, kSwitch, kWaking, kLoss, kCounts };

struct Event {
  int64_t ts_ns;
  uint64_t exec_ns;  // kSwitch: of the thread switched out
  uint32_t tid;      // kSwitch: switched out; kWaking: woken; kCounts: has the CPU
  uint32_t
      other;  // kSwitch: switched in; kWaking: waker; kLife: index into Lifecycle::events; kLoss: index into losses
  uint16_t flags;  // hw_switch_flags or hw_waking_flags
  uint16_t state;  // kSwitch: prev_state
  int16_t cpu;
  EventType type;
  const uint64_t* counts = nullptr;  // kSwitch with HW_SW_COUNTED, kCounts: valid while the event is
};

}  // namespace headway
