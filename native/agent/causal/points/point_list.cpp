#include "agent/causal/points/point_list.h"

#include "agent/causal/common/notes.h"
#include "agent/causal/common/point_match.h"

namespace headway::agent::causal {
namespace {

const char* kind_name(PointKind kind) {
  constexpr const char* kNames[] = {"method", "line", "api", "latency_begin", "latency_end", "candidate"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

thread_local bool arming_points = false;

Points& points() noexcept {
  static Points* const instance = new Points;  // never destroyed: classes load until the process ends
  return *instance;
}

Point* add_point(PointKind kind, std::string_view name, const Place& place, Call call, int32_t latency) noexcept {
  Points& self = points();
  const std::lock_guard locked(self.mutex);
  const uint32_t id = self.count.load();
  if (id == self.all.size() || self.next_cell >= self.top_cell) return nullptr;
  auto* point = new Point;
  point->id = id;
  point->cell = static_cast<uint16_t>(self.next_cell++);
  point->kind = kind;
  point->call = call;
  point->name = name;
  point->place = place;
  point->latency = latency;
  point->base = count_of_cell(point->cell);
  point->seen_count = point->base.count;
  self.all[id] = point;
  self.count.store(id + 1, std::memory_order_release);
  return point;
}

void note_point(const Point& point) noexcept {
  note("point", "\"id\":" + std::to_string(point.id) + ",\"name\":" + json_text(point.name) + ",\"kind\":\"" +
                    kind_name(point.kind) +
                    "\",\"where\":" + json_text(point.place.text.empty() ? point.name : point.place.text) +
                    ",\"latency\":" + std::to_string(point.latency) +
                    ",\"places\":" + std::to_string(point.places.load()));
}

bool is_named_by_a_point(std::string_view name, std::string_view file) {
  const std::string class_name = dotted(name);
  const uint32_t count = points().count.load();
  for (uint32_t i = 0; i < count; ++i) {
    const Point& point = *points().all[i];
    if (point.is_asked_for() && (may_be_in(point.place, class_name) || is_source_of(point.place, class_name, file))) {
      return true;
    }
  }
  return false;
}

}  // namespace headway::agent::causal
