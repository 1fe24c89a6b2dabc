// The class java.lang.HeadwayPointN in the boot loader, which inserted calls lead to, and the counters behind it.
#pragma once

#include <jni.h>

#include <cstdint>
#include <string>

#include "agent/causal/causal.h"

namespace headway::agent::causal {

// Counters lie in native memory: stripes by thread id, so that threads seldom meet in a cache line; in each stripe a
// cell of two numbers (visits, sum of clocks) for every point. As in HeadwayPoint0.java.
constexpr uint32_t kStripes = 64;
constexpr uint32_t kStripeBytes = 1 << 16;
constexpr uint32_t kCellBytes = 16;
constexpr uint32_t kCells = kStripeBytes / kCellBytes - 4;  // a stripe ends in a cache line that nobody uses

// Defines the class, once in a JVM. Not null: what is in the way.
const char* define_point_class(JNIEnv* jni) noexcept;
const std::string& point_class_name() noexcept;  // "java/lang/HeadwayPoint0"
// `on`: leaving() compares with what all threads owe; else it does nothing.
void switch_settling(JNIEnv* jni, bool on) noexcept;
// Of one cell, all stripes summed.
Visits count_of_cell(uint32_t cell) noexcept;

// What the class asks for (points.cpp): the cell of a point of the program's own code; 0: none.
uint32_t api_point(std::string_view name) noexcept;
uint32_t api_pair(std::string_view name) noexcept;

}  // namespace headway::agent::causal
