// Requests in flight by Little's law, against requests whose begins and ends are listed one by one.
#include "agent/causal/points/visits.h"

#include <cstdint>
#include <vector>

#include "testing/check.h"

using namespace headway::agent::causal;

namespace {

struct Request {
  int64_t begin_ns;
  int64_t end_ns;
};

// What the cells of points 0 (begins) and 1 (ends) hold at a time, `delay_ns` having been inserted before the requests.
Reading reading_at(int64_t ns, const std::vector<Request>& requests, int64_t delay_ns = 0) {
  Reading reading{.ns = ns, .delay_ns = delay_ns, .points = {Visits{}, Visits{}}};
  for (const Request& each : requests) {
    if (each.begin_ns <= ns)
      reading.points[0] = {reading.points[0].count + 1, reading.points[0].clock_ns + each.begin_ns};
    if (each.end_ns <= ns) reading.points[1] = {reading.points[1].count + 1, reading.points[1].clock_ns + each.end_ns};
  }
  return reading;
}

const std::vector<LatencyPair> kPair = {{0, 1}};

void the_time_in_flight_is_the_sum_over_requests_of_their_time_in_the_experiment() {
  // One wholly inside (30), one that had begun before (50 of it inside), one that has not ended (20 of it inside).
  const std::vector<Request> requests = {{120, 150}, {40, 150}, {180, 900}};
  const std::string row = latency_rows(kPair, reading_at(100, requests), reading_at(200, requests), 100);
  CHECK_EQUAL(row, "[0,2,2,1,100]");
}

void delays_are_no_time_in_flight() {
  // One request throughout; 30 of the 100 ns were inserted.
  const std::vector<Request> requests = {{40, 900}};
  const std::string row = latency_rows(kPair, reading_at(100, requests, 5), reading_at(200, requests, 35), 100);
  CHECK_EQUAL(row, "[0,0,0,1,70]");
}

void a_pair_that_is_newer_than_the_readings_has_no_row_and_leaves_no_comma() {
  const Reading begin = reading_at(100, {}), end = reading_at(200, {});
  const std::vector<LatencyPair> newer_last = {{0, 1}, {2, 3}};
  CHECK_EQUAL(latency_rows(newer_last, begin, end, 100), "[0,0,0,0,0]");
  const std::vector<LatencyPair> newer_first = {{2, 3}, {0, 1}};  // two threads may add pairs at once
  CHECK_EQUAL(latency_rows(newer_first, begin, end, 100), "[1,0,0,0,0]");
  const std::vector<LatencyPair> half = {{0, 2}};
  CHECK_EQUAL(latency_rows(half, begin, end, 100), "");
  CHECK_EQUAL(latency_rows({}, begin, end, 100), "");
}

void a_pair_that_came_during_the_experiment_began_with_nothing() {
  const std::vector<Request> requests = {{120, 150}};
  const Reading begin{.ns = 100, .delay_ns = 0, .points = {}};
  CHECK_EQUAL(latency_rows(kPair, begin, reading_at(200, requests), 100), "[0,1,1,0,30]");
}

}  // namespace

int main() {
  the_time_in_flight_is_the_sum_over_requests_of_their_time_in_the_experiment();
  delays_are_no_time_in_flight();
  a_pair_that_is_newer_than_the_readings_has_no_row_and_leaves_no_comma();
  a_pair_that_came_during_the_experiment_began_with_nothing();
}
