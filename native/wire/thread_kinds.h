// Made from src/headway/model/kinds.py by scripts/make_shared.py (make reference): change that, not this file.
#pragma once

#include <cstdint>

namespace headway {

constexpr uint8_t kAppKind = 0, kGcKind = 1, kJitKind = 2, kVmKind = 3, kHeadwayKind = 4;
constexpr int kKinds = 4;  // counted each by itself; headway's own threads are not
constexpr const char* kKindNames[kKinds] = {"app", "gc", "jit", "vm"};

}  // namespace headway
