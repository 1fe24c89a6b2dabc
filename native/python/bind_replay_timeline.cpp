// What threads do while a run is replayed, for Python. analyses/whatif is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "replay/lock_plan.h"
#include "replay/replay_timeline.h"

namespace nb = nanobind;

namespace headway {
namespace {

nb::dict slices_of(const ReplayTimeline& self, int64_t from_ns) {
  const PredictedSlices& slices = self.slices();
  nb::dict out;
  std::vector<int64_t> end_ns = slices.end_ns;
  for (int64_t& each : end_ns) each += from_ns;
  out["stolen_ticks"] = array(std::vector<int64_t>(end_ns.size()));
  out["end_ticks"] = array(std::move(end_ns));
  out["running_ticks"] = array(std::vector<int64_t>(slices.running_ns));
  out["runnable_ticks"] = array(std::vector<int64_t>(slices.runnable_ns));
  out["blocked_ticks"] = array(std::vector<int64_t>(slices.blocked_ns));
  out["thread_id"] = array(std::vector<int32_t>(slices.thread_id));
  out["waker_id"] = array(std::vector<int32_t>(slices.waker_id));
  out["flags"] = array(std::vector<uint8_t>(slices.flags));
  out["blocked_in"] = array(std::vector<uint8_t>(slices.blocked_in));
  return out;
}

nb::dict lock_waits_of(const ReplayTimeline& self, const LockPlan& plan) {
  const PredictedLockWaits& waits = self.lock_waits();
  std::vector<int32_t> lock;
  for (const int32_t each : waits.lock) {
    if (static_cast<size_t>(each) >= plan.origin.size()) throw nb::value_error("a plan of another replay");
    lock.push_back(plan.origin[static_cast<size_t>(each)]);
  }
  nb::dict out;
  out["lock"] = array(std::move(lock));
  out["thread"] = array(std::vector<int32_t>(waits.thread));
  out["holder"] = array(std::vector<int32_t>(waits.holder));
  out["start_ns"] = array(std::vector<int64_t>(waits.start_ns));
  out["end_ns"] = array(std::vector<int64_t>(waits.end_ns));
  return out;
}

nb::object times_of(const ReplayTimeline& self, const Input<int32_t>& thread, const Input<int64_t>& ns) {
  const int64_t* times = checked(ns, thread.shape(0));
  std::vector<int64_t> found(thread.shape(0));
  {
    nb::gil_scoped_release unlocked;
    for (size_t i = 0; i < found.size(); ++i) found[i] = self.time_of(thread.data()[i], times[i]);
  }
  return array(std::move(found));
}

}  // namespace

void bind_replay_timeline(nb::module_& m) {
  nb::class_<ReplayTimeline>(m, "ReplayTimeline",
                             "What a run's threads do while it is replayed; see native/replay/replay_timeline.h.")
      .def(nb::init<const RunSteps&>(), nb::arg("steps"), nb::keep_alive<1, 2>(), "Of a replay that is to come.")
      .def_prop_ro("is_whole", &ReplayTimeline::is_whole, "False: there were too many slices, and some are missing.")
      .def("slices", &slices_of, nb::arg("from_ns"),
           "Slices as they are stored, in ticks of 1 ns, in order; the span begins at from_ns.")
      .def("lock_waits", &lock_waits_of, nb::arg("plan"),
           "Waits for recorded locks, each as long as one thread had it, in ns since the start of the span.")
      .def("times", &times_of, nb::arg("thread"), nb::arg("ns"),
           "When threads come to where they were at recorded times, in ns since the start of the span.");
}

}  // namespace headway
