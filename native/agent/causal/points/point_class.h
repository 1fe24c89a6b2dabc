// The class java.lang.HeadwayPointN in the boot loader, which inserted calls lead to, and the counters behind it.
#pragma once

#include <jni.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/causal/points/visits.h"

namespace headway::agent::causal {

// Counters lie in native memory: stripes by thread id, so that threads seldom meet in a cache line; in each stripe a
// cell of two numbers (visits, sum of clocks) for every point. As in HeadwayPoint0.java.
constexpr uint32_t kStripes = 64;
constexpr uint32_t kStripeBytes = 1 << 16;
constexpr uint32_t kCellBytes = 16;
constexpr uint32_t kCells = kStripeBytes / kCellBytes - 4;  // a stripe ends in a cache line that nobody uses

// What the class asks for by name: the cell of a point of the program's own code; 0: none.
struct PointNumbers {
  uint32_t (*point)(std::string_view name);
  uint32_t (*pair)(std::string_view name);
};
// Defines the class, once in a JVM. Not null: what is in the way.
const char* define_point_class(JNIEnv* jni, PointNumbers numbers) noexcept;
const std::string& point_class_name() noexcept;  // "java/lang/HeadwayPoint0"
// `on`: leaving() compares with what all threads owe; else it does nothing.
void switch_settling(JNIEnv* jni, bool on) noexcept;
// Of one cell, all stripes summed.
Visits count_of_cell(uint32_t cell) noexcept;

}  // namespace headway::agent::causal
