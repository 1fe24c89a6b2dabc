// The list of progress points: what each is called, where it is meant to be, and how many places it is in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/causal/common/options.h"
#include "agent/causal/points/point_class.h"
#include "agent/causal/points/visits.h"
#include "agent/classfile/class_insert.h"

namespace headway::agent::causal {

enum class PointKind : uint8_t { kMethod, kLine, kApi, kLatencyBegin, kLatencyEnd, kCandidate };

// Made when the recording begins (or when a point of the program's own code is first used); never destroyed, because a
// class may be loading while the recording ends.
struct Point {
  uint32_t id = 0;
  uint16_t cell = 0;  // of point_class.h
  PointKind kind = PointKind::kMethod;
  Call call = Call::kHit;
  std::string name{};
  Place place{};
  int32_t latency = -1;
  Visits base{};  // what the cell had counted before
  std::atomic<uint32_t> places{0};

  // Guarded by Points::mutex: why nothing fits so far, and what is near.
  std::string reason{};
  std::vector<std::string> near{};
  bool are_near_names_reported = false;

  // Of a candidate.
  std::string class_name{};
  std::string descriptor{};
  bool is_given_up = false;
  uint64_t seen_count = 0;

  bool is_asked_for() const { return kind != PointKind::kApi && kind != PointKind::kCandidate && !place.text.empty(); }
};

struct Points {
  std::mutex mutex;       // held for moments, never across a call into the JVM
  std::mutex pair_mutex;  // taken before the other: one pair of the program's own code is added at a time
  std::array<Point*, kCells> all{};
  std::atomic<uint32_t> count{0};
  std::vector<LatencyPair> pairs;
  std::map<std::string, uint32_t, std::less<>> api_cells;
  std::map<std::string, uint32_t, std::less<>> api_pairs;
  uint32_t next_cell = 1;                      // of this recording's points; 0 is nobody's
  uint32_t top_cell = kCells - 1;              // of API points, downwards: they stay as long as the program
  std::set<std::string, std::less<>> changed;  // classes that have calls of ours ("com/acme/Order")
  std::set<std::string, std::less<>> seen;     // and those that were looked at
  std::atomic<bool> is_armed{false};
  bool settles = false;    // inserts leaving()
  bool has_files = false;  // a source file is named by some point
  bool has_lines = false;  // a line is
  int64_t armed_ns = 0;
};
Points& points() noexcept;

// Any thread. Null: there are too many.
Point* add_point(PointKind kind, std::string_view name, const Place& place, Call call, int32_t latency) noexcept;
void note_point(const Point& point) noexcept;

// True: on this thread classes are retransformed by us; what is inserted counts as a new place.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is false until a thread sets it
extern thread_local bool arming_points;

constexpr char kApiClass[] = "headway/api/Progress";
// A progress point that was asked for lies in that class, or may; `file`: its source file, empty: not known.
bool is_named_by_a_point(std::string_view name, std::string_view file);

}  // namespace headway::agent::causal
