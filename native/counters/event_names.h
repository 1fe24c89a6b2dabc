// Made from src/headway/record/counters/events.py by scripts/make_shared.py (make reference): change that, not this file.
#pragma once

#include <cstdint>
#include <string_view>

namespace headway {

struct NamedEvent {
  std::string_view name;
  uint64_t config;
  uint32_t type;
  uint32_t exercise;  // see Exercise of known_loop.h
};

// clang-format off
constexpr NamedEvent kNamedEvents[] = {
    {"cycles", 0x0, 0, 1},
    {"cpu-cycles", 0x0, 0, 1},
    {"instructions", 0x1, 0, 1},
    {"cache-references", 0x2, 0, 3},
    {"cache-misses", 0x3, 0, 3},
    {"branches", 0x4, 0, 1},
    {"branch-instructions", 0x4, 0, 1},
    {"branch-misses", 0x5, 0, 1},
    {"bus-cycles", 0x6, 0, 1},
    {"stalled-cycles-frontend", 0x7, 0, 3},
    {"stalled-cycles-backend", 0x8, 0, 3},
    {"ref-cycles", 0x9, 0, 1},
    {"cpu-clock", 0x0, 1, 1},
    {"task-clock", 0x1, 1, 1},
    {"page-faults", 0x2, 1, 4},
    {"faults", 0x2, 1, 4},
    {"context-switches", 0x3, 1, 8},
    {"cs", 0x3, 1, 8},
    {"cpu-migrations", 0x4, 1, 16},
    {"migrations", 0x4, 1, 16},
    {"minor-faults", 0x5, 1, 4},
    {"major-faults", 0x6, 1, 0},
    {"alignment-faults", 0x7, 1, 0},
    {"emulation-faults", 0x8, 1, 0},
    {"cgroup-switches", 0xb, 1, 0},
    {"L1-dcache-loads", 0x0, 3, 3},
    {"L1-dcache-load-misses", 0x10000, 3, 3},
    {"L1-dcache-stores", 0x100, 3, 3},
    {"L1-dcache-store-misses", 0x10100, 3, 3},
    {"L1-dcache-prefetches", 0x200, 3, 3},
    {"L1-dcache-prefetch-misses", 0x10200, 3, 3},
    {"L1-icache-loads", 0x1, 3, 3},
    {"L1-icache-load-misses", 0x10001, 3, 3},
    {"L1-icache-stores", 0x101, 3, 3},
    {"L1-icache-store-misses", 0x10101, 3, 3},
    {"L1-icache-prefetches", 0x201, 3, 3},
    {"L1-icache-prefetch-misses", 0x10201, 3, 3},
    {"LLC-loads", 0x2, 3, 3},
    {"LLC-load-misses", 0x10002, 3, 3},
    {"LLC-stores", 0x102, 3, 3},
    {"LLC-store-misses", 0x10102, 3, 3},
    {"LLC-prefetches", 0x202, 3, 3},
    {"LLC-prefetch-misses", 0x10202, 3, 3},
    {"dTLB-loads", 0x3, 3, 3},
    {"dTLB-load-misses", 0x10003, 3, 3},
    {"dTLB-stores", 0x103, 3, 3},
    {"dTLB-store-misses", 0x10103, 3, 3},
    {"dTLB-prefetches", 0x203, 3, 3},
    {"dTLB-prefetch-misses", 0x10203, 3, 3},
    {"iTLB-loads", 0x4, 3, 3},
    {"iTLB-load-misses", 0x10004, 3, 3},
    {"iTLB-stores", 0x104, 3, 3},
    {"iTLB-store-misses", 0x10104, 3, 3},
    {"iTLB-prefetches", 0x204, 3, 3},
    {"iTLB-prefetch-misses", 0x10204, 3, 3},
    {"branch-loads", 0x5, 3, 3},
    {"branch-load-misses", 0x10005, 3, 3},
    {"branch-stores", 0x105, 3, 3},
    {"branch-store-misses", 0x10105, 3, 3},
    {"branch-prefetches", 0x205, 3, 3},
    {"branch-prefetch-misses", 0x10205, 3, 3},
    {"node-loads", 0x6, 3, 3},
    {"node-load-misses", 0x10006, 3, 3},
    {"node-stores", 0x106, 3, 3},
    {"node-store-misses", 0x10106, 3, 3},
    {"node-prefetches", 0x206, 3, 3},
    {"node-prefetch-misses", 0x10206, 3, 3},
};
// clang-format on

}  // namespace headway
