// Replays of runs on other cores for Python. analyses/whatif is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "replay/core_replay.h"
#include "replay/run_steps.h"

namespace nb = nanobind;

namespace headway {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 60;
constexpr int32_t kMostProcesses = 64;

template <typename T>
const T* same(const Input<T>& values, size_t rows) {
  if (values.shape(0) != rows) throw nb::value_error("columns of different length");
  return values.data();
}

void make(RunSteps* self, const Input<int64_t>& birth_ns, const Input<int32_t>& parent, const Input<uint8_t>& role,
          const Input<int32_t>& process, int64_t from_ns, int64_t to_ns, int64_t cores) {
  if (from_ns < 0 || to_ns > kMostNs || to_ns < from_ns) throw nb::value_error("a span beyond all times");
  for (const int32_t each : vector_of(process)) {
    if (each < -1 || each >= kMostProcesses) throw nb::value_error("too many processes");
  }
  new (self)
      RunSteps({vector_of(birth_ns), vector_of(parent), vector_of(role), vector_of(process)}, from_ns, to_ns, cores);
}

bool batch(RunSteps& self, const Input<int16_t>& tick_ns, const Input<int64_t>& end_ticks,
           const Input<int64_t>& running_ticks, const Input<int64_t>& runnable_ticks,
           const Input<int64_t>& blocked_ticks, const Input<int64_t>& stolen_ticks, const Input<int32_t>& thread_id,
           const Input<int32_t>& waker_id, const Input<uint8_t>& flags, const Input<uint8_t>& blocked_in) {
  StoredSlices slices;
  slices.rows = tick_ns.shape(0);
  slices.end_ticks = same(end_ticks, slices.rows);
  slices.running_ticks = same(running_ticks, slices.rows);
  slices.runnable_ticks = same(runnable_ticks, slices.rows);
  slices.blocked_ticks = same(blocked_ticks, slices.rows);
  slices.stolen_ticks = same(stolen_ticks, slices.rows);
  slices.thread_id = same(thread_id, slices.rows);
  slices.waker_id = same(waker_id, slices.rows);
  slices.flags = same(flags, slices.rows);
  slices.blocked_in = blocked_in.shape(0) == 0 ? nullptr : same(blocked_in, slices.rows);
  nb::gil_scoped_release unlocked;
  return self.batch(slices, tick_ns.data());
}

void resolve(RunSteps& self, const Input<int64_t>& start_ns, const Input<int64_t>& end_ns,
             const Input<int32_t>& vm_thread, const Input<int32_t>& lock_thread, const Input<int64_t>& lock_start_ns,
             const Input<int64_t>& lock_end_ns) {
  const RunStops stops{vector_of(start_ns), vector_of(end_ns), vector_of(vm_thread)};
  const LockWaits locks{vector_of(lock_thread), vector_of(lock_start_ns), vector_of(lock_end_ns)};
  nb::gil_scoped_release unlocked;
  self.resolve(stops, locks);
}

nb::dict figures(const RunSteps& self) {
  nb::dict out;
  out["slices"] = self.steps().size();
  out["signals"] = self.signals().size();
  out["waking_ns"] = self.waking_ns();
  out["lock_wait_ns"] = self.lock_wait_ns();
  out["waited_ns"] = array(std::vector<int64_t>(self.waited_ns(), self.waited_ns() + kStepWaits));
  return out;
}

nb::list replay(const std::vector<const RunSteps*>& runs, const std::vector<int32_t>& last, double cores,
                bool has_stolen, double work_factor, double io_factor, double waking_factor, bool has_collections,
                bool has_lock_waits) {
  if (runs.size() != last.size()) throw nb::value_error("columns of different length");
  for (const double each : {cores, work_factor, io_factor, waking_factor}) {
    if (!std::isfinite(each) || each < 0) throw nb::value_error("a factor that is none");
  }
  if (cores < 1) throw nb::value_error("less than one core");
  std::vector<ReplayRun> asked;
  for (size_t i = 0; i < runs.size(); ++i) asked.push_back({runs[i], last[i]});
  const ReplayChanges changes{cores,         has_stolen,      work_factor,   io_factor,
                              waking_factor, has_collections, has_lock_waits};
  std::vector<Replayed> found;
  {
    nb::gil_scoped_release unlocked;
    found = replay_on_cores(asked, changes);
  }
  nb::list out;
  for (const Replayed& each : found) {
    const ReplayLevels& levels = each.levels;
    const std::vector<double> by_level{levels.none_ns, levels.one_ns, levels.few_ns, levels.all_ns, levels.many_ns};
    out.append(nb::make_tuple(each.end_ns, by_level));
  }
  return out;
}

}  // namespace

void bind_replay(nb::module_& m) {
  nb::class_<RunSteps>(m, "RunSteps", "The program of a recorded run; see native/replay/run_steps.h.")
      .def("__init__", &make, nb::arg("birth_ns"), nb::arg("parent"), nb::arg("role"), nb::arg("process"),
           nb::arg("from_ns"), nb::arg("to_ns"), nb::arg("cores"),
           "Threads by thread_id, the recorded span, and on how many cores it was.")
      .def("batch", &batch, nb::arg("tick_ns"), nb::arg("end_ticks"), nb::arg("running_ticks"),
           nb::arg("runnable_ticks"), nb::arg("blocked_ticks"), nb::arg("stolen_ticks"), nb::arg("thread_id"),
           nb::arg("waker_id"), nb::arg("flags"), nb::arg("blocked_in"),
           "Take stored columns of `slice`, in any order; blocked_in may be empty. False: too many.")
      .def("resolve", &resolve, nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("vm_thread"), nb::arg("lock_thread"),
           nb::arg("lock_start_ns"), nb::arg("lock_end_ns"),
           "There are no more slices. Collections that stopped all threads, in any order; waits for locks, in order of "
           "(thread, start).")
      .def("figures", &figures, "Numbers of slices and signals, and how long threads waited, by what ended it.");
  m.def("replay_on_cores", &replay, nb::kw_only(), nb::arg("runs"), nb::arg("last"), nb::arg("cores"),
        nb::arg("has_stolen"), nb::arg("work_factor"), nb::arg("io_factor"), nb::arg("waking_factor"),
        nb::arg("has_collections"), nb::arg("has_lock_waits"),
        "Of each run: when it ends (negative: it is stuck), and for how long no thread was ready, one, fewer than "
        "cores, as many, more. See native/replay/core_replay.h.");
}

}  // namespace headway
