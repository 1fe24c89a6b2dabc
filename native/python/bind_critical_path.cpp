// The critical path for Python. analyses/critical_path/walk.py is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>

#include "bindings.h"
#include "columns.h"
#include "critical_path/critical_path.h"
#include "slice_columns.h"

namespace nb = nanobind;

namespace headway {
namespace {

void make(CriticalPath* self, Input<int64_t> birth_ns, Input<int32_t> parent, Input<uint8_t> is_sampler,
          Input<uint8_t> role, Input<int64_t> first, Input<int64_t> start_ns, Input<int64_t> end_ns,
          Input<int32_t> waker, Input<int64_t> waking_ns, int32_t thread, int64_t from_ns, int64_t to_ns) {
  PathThreads threads{vector_of(birth_ns), vector_of(parent), vector_of(is_sampler), vector_of(role)};
  PathWaits waits{vector_of(first), vector_of(start_ns), vector_of(end_ns), vector_of(waker), vector_of(waking_ns)};
  new (self) CriticalPath(std::move(threads), std::move(waits), thread, from_ns, to_ns);
}

void batch(CriticalPath& self, Input<int16_t> tick_ns, Input<int64_t> end_ticks, Input<int64_t> running_ticks,
           Input<int64_t> runnable_ticks, Input<int64_t> blocked_ticks, Input<int64_t> stolen_ticks,
           Input<int32_t> thread_id, Input<int32_t> waker_id, Input<uint8_t> flags, Input<uint8_t> blocked_in) {
  const PackedSlices slices{stored_slices(tick_ns, end_ticks, running_ticks, runnable_ticks, blocked_ticks,
                                          stolen_ticks, thread_id, waker_id, flags, blocked_in),
                            tick_ns.data()};
  nb::gil_scoped_release unlocked;
  self.batch(slices);
}

nb::dict take(CriticalPath& self) {
  PathPieces pieces = self.take();
  nb::dict out;
  out["thread"] = array(std::move(pieces.thread));
  out["start_ns"] = array(std::move(pieces.start_ns));
  out["end_ns"] = array(std::move(pieces.end_ns));
  out["stolen_ns"] = array(std::move(pieces.stolen_ns));
  out["state"] = array(std::move(pieces.state));
  out["blocked"] = array(std::move(pieces.blocked));
  out["wait"] = array(std::move(pieces.wait));
  out["waiter"] = array(std::move(pieces.waiter));
  out["waiter_wait"] = array(std::move(pieces.waiter_wait));
  out["waiter_blocked"] = array(std::move(pieces.waiter_blocked));
  return out;
}

}  // namespace

void bind_critical_path(nb::module_& m) {
  nb::class_<CriticalPath>(m, "CriticalPath",
                           "The walk along the critical path; see native/critical_path/critical_path.h.")
      .def("__init__", &make, nb::arg("birth_ns"), nb::arg("parent"), nb::arg("is_sampler"), nb::arg("role"),
           nb::arg("first"), nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("waker"), nb::arg("waking_ns"),
           nb::arg("thread"), nb::arg("from_ns"), nb::arg("to_ns"),
           "Threads by thread_id; waits in order of (thread, start_ns), and where each thread's begin.")
      .def("batch", &batch, nb::arg("tick_ns"), nb::arg("end_ticks"), nb::arg("running_ticks"),
           nb::arg("runnable_ticks"), nb::arg("blocked_ticks"), nb::arg("stolen_ticks"), nb::arg("thread_id"),
           nb::arg("waker_id"), nb::arg("flags"), nb::arg("blocked_in"),
           "Take stored columns of `slice`, the last batch first; blocked_in may be empty. Raises ValueError when they "
           "are "
           "not in order.")
      .def("finish", &CriticalPath::finish, "There are no more slices.")
      .def_prop_ro("is_done", &CriticalPath::is_done, "Whether the path has reached from_ns.")
      .def_prop_ro("followed", &CriticalPath::followed, "How often it went from one thread to another that woke it.")
      .def("take", &take, "Hand over the pieces found since the last call, from the last to the first.");
}

}  // namespace headway
