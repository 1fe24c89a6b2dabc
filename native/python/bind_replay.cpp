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
#include "replay/lock_acquisitions.h"
#include "replay/lock_plan.h"
#include "replay/pool_tasks.h"
#include "replay/replay_timeline.h"
#include "replay/run_steps.h"
#include "replay/step_changes.h"
#include "slice_columns.h"

namespace nb = nanobind;

namespace headway {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 60;
constexpr int32_t kMostProcesses = 64;

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
  const StoredSlices slices = stored_slices(tick_ns, end_ticks, running_ticks, runnable_ticks, blocked_ticks,
                                            stolen_ticks, thread_id, waker_id, flags, blocked_in);
  nb::gil_scoped_release unlocked;
  return self.batch(slices, tick_ns.data());
}

void resolve(RunSteps& self, const Input<int64_t>& start_ns, const Input<int64_t>& end_ns,
             const Input<int32_t>& vm_thread, const Input<int32_t>& lock_thread, const Input<int64_t>& lock_start_ns,
             const Input<int64_t>& lock_end_ns, const Input<int32_t>& answered_thread,
             const Input<int64_t>& answered_woken_ns) {
  const RunStops stops{vector_of(start_ns), vector_of(end_ns), vector_of(vm_thread)};
  const LockWaits locks{vector_of(lock_thread), vector_of(lock_start_ns), vector_of(lock_end_ns)};
  const AnsweredReads answered{vector_of(answered_thread), vector_of(answered_woken_ns)};
  nb::gil_scoped_release unlocked;
  self.resolve(stops, locks, answered);
}

void tell_waits(RunSteps& self, const Input<int32_t>& thread, const Input<int64_t>& start_ns,
                const Input<int64_t>& end_ns, const Input<int32_t>& blocker) {
  self.tell_waits({vector_of(thread), vector_of(start_ns), vector_of(end_ns), vector_of(blocker)});
}

void tell_ends(RunSteps& self, const Input<uint8_t>& has_ended) { self.tell_ends(vector_of(has_ended)); }

nb::dict figures(const RunSteps& self) {
  nb::dict out;
  out["slices"] = self.steps().size();
  out["signals"] = self.signals().size();
  out["waking_ns"] = self.waking_ns();
  out["lock_wait_ns"] = self.lock_wait_ns();
  out["unsure_ns"] = self.unsure_ns();
  out["without_sender_ns"] = self.without_sender_ns();
  out["between_tasks_ns"] = self.between_tasks_ns();
  out["has_all_task_signals"] = self.has_all_task_signals();
  out["waited_ns"] = array(std::vector<int64_t>(self.waited_ns(), self.waited_ns() + kStepWaits));
  return out;
}

struct LockAcquisitions {
  std::vector<Acquisition> rows;
};

void make_acquisitions(LockAcquisitions* self, const Input<int32_t>& lock, const Input<int32_t>& thread,
                       const Input<int32_t>& waker, const Input<int32_t>& owner, const Input<int64_t>& start_ns,
                       const Input<int64_t>& end_ns, const Input<int64_t>& waking_ns, const Input<uint8_t>& is_repark,
                       const Input<uint8_t>& is_monitor_wait, const Input<int32_t>& hold_lock,
                       const Input<int32_t>& hold_thread, const Input<int64_t>& hold_start_ns,
                       const Input<int64_t>& hold_end_ns) {
  const LockBlocks blocks{vector_of(lock),      vector_of(thread),    vector_of(waker),
                          vector_of(owner),     vector_of(start_ns),  vector_of(end_ns),
                          vector_of(waking_ns), vector_of(is_repark), vector_of(is_monitor_wait)};
  const LockHolds holds{vector_of(hold_lock), vector_of(hold_thread), vector_of(hold_start_ns), vector_of(hold_end_ns)};
  if (!blocks.is_sound() || !holds.is_sound()) throw nb::value_error("columns of different length");
  for (const auto* column : {&blocks.start_ns, &blocks.end_ns, &holds.start_ns, &holds.end_ns}) {
    for (const int64_t ns : *column) {
      if (ns < -kMostNs || ns > kMostNs) throw nb::value_error("a time beyond all times");
    }
  }
  new (self) LockAcquisitions();
  nb::gil_scoped_release unlocked;
  self->rows = acquisitions(blocks, holds);
}

nb::dict columns_of(const LockAcquisitions& self) {
  std::vector<int32_t> lock, thread;
  std::vector<int64_t> asked, got, released;
  std::vector<uint8_t> is_whole;
  for (const Acquisition& each : self.rows) {
    lock.push_back(each.lock);
    thread.push_back(each.thread);
    asked.push_back(each.asked_ns);
    got.push_back(each.got_ns);
    released.push_back(each.released_ns);
    is_whole.push_back(each.is_whole ? 1 : 0);
  }
  nb::dict out;
  out["lock"] = array(std::move(lock));
  out["thread"] = array(std::move(thread));
  out["asked_ns"] = array(std::move(asked));
  out["got_ns"] = array(std::move(got));
  out["released_ns"] = array(std::move(released));
  out["is_whole"] = array(std::move(is_whole));
  return out;
}

constexpr int32_t kMostPools = 1'000;
constexpr uint32_t kMostWorkers = 1'000'000;

void check_threads(const std::vector<int32_t>& threads, size_t count, int32_t least) {
  for (const int32_t each : threads) {
    if (each < least || each >= static_cast<int32_t>(count)) throw nb::value_error("a thread of another run");
  }
}

// A new run; tasks in order of (thread, begin_ns), joins in any.
RunSteps split_in_tasks(const RunSteps& self, const Input<int32_t>& thread, const Input<int64_t>& begin_ns,
                        const Input<int32_t>& pool, const Input<uint8_t>& has_wait, const Input<int32_t>& submitter,
                        const Input<int64_t>& submitted_ns, const Input<int32_t>& join_thread,
                        const Input<int64_t>& join_ns, const Input<int64_t>& join_since_ns,
                        const Input<int32_t>& join_pool) {
  const PoolTasks tasks{vector_of(thread),   vector_of(begin_ns),  vector_of(pool),
                        vector_of(has_wait), vector_of(submitter), vector_of(submitted_ns)};
  const PoolJoins joins{vector_of(join_thread), vector_of(join_ns), vector_of(join_since_ns), vector_of(join_pool)};
  if (!tasks.is_sound() || !joins.is_sound()) throw nb::value_error("columns of different length");
  const size_t threads = self.threads().size();
  check_threads(tasks.thread, threads, 0);
  check_threads(tasks.submitter, threads, -1);
  check_threads(joins.thread, threads, 0);
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks.pool[i] < 0 || tasks.pool[i] >= kMostPools) throw nb::value_error("too many pools");
    const bool is_after =
        i > 0 && std::pair(tasks.thread[i], tasks.begin_ns[i]) < std::pair(tasks.thread[i - 1], tasks.begin_ns[i - 1]);
    if (is_after) throw nb::value_error("tasks that are not in order");
  }
  nb::gil_scoped_release unlocked;
  return with_tasks(self, tasks, joins);
}

constexpr int32_t kMostParts = 1'000;

void make_plan(LockPlan* self, const RunSteps& steps, const LockAcquisitions& acquired,
               const Input<uint8_t>& is_removed, const Input<double>& held_part, const Input<int32_t>& parts,
               const Input<uint8_t>& is_fair, uint64_t seed) {
  const size_t locks = is_removed.shape(0);
  std::vector<LockChange> changes(locks);
  for (size_t i = 0; i < locks; ++i) {
    changes[i] = {is_removed.data()[i] != 0, checked(held_part, locks)[i], checked(parts, locks)[i],
                  checked(is_fair, locks)[i] != 0};
    const double part = changes[i].held_part;
    if (!(part >= 0 && part <= 1)) throw nb::value_error("a part that is none");
    if (changes[i].parts < 1 || changes[i].parts > kMostParts) throw nb::value_error("too many parts");
  }
  new (self) LockPlan();
  nb::gil_scoped_release unlocked;
  *self = plan_locks(steps, acquired.rows, changes, seed);
}

std::vector<double> by_recorded_lock(const LockPlan& plan, const std::vector<double>& values) {
  std::vector<double> found;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto lock = static_cast<size_t>(plan.origin[i]);
    if (found.size() <= lock) found.resize(lock + 1);
    found[lock] += values[i];
  }
  return found;
}

// What is to be known of the program's steps to change single ones: which wait for a time, and what each computes.
nb::dict program_steps(const RunSteps& self) {
  std::vector<uint32_t> step;
  std::vector<int32_t> thread;
  std::vector<int64_t> begin_ns, woken_ns, start_ns, end_ns, work_ns;
  std::vector<uint8_t> is_sleep, is_by_thread, is_unsure;
  for (size_t i = 0; i < self.steps().size(); ++i) {
    if (!self.is_program(i)) continue;
    const Step& each = self.steps()[i];
    step.push_back(static_cast<uint32_t>(i));
    thread.push_back(each.thread);
    begin_ns.push_back(each.begin_ns);
    woken_ns.push_back(each.woken_ns);
    start_ns.push_back(each.start_ns);
    end_ns.push_back(each.end_ns);
    work_ns.push_back(each.running_ns() - each.stolen_ns);
    is_sleep.push_back(each.wait == StepWait::kSleep ? 1 : 0);
    is_by_thread.push_back(each.wait == StepWait::kThread ? 1 : 0);
    is_unsure.push_back(each.is_unsure ? 1 : 0);
  }
  nb::dict out;
  out["step"] = array(std::move(step));
  out["thread"] = array(std::move(thread));
  out["begin_ns"] = array(std::move(begin_ns));
  out["woken_ns"] = array(std::move(woken_ns));
  out["start_ns"] = array(std::move(start_ns));
  out["end_ns"] = array(std::move(end_ns));
  out["work_ns"] = array(std::move(work_ns));
  out["is_sleep"] = array(std::move(is_sleep));
  out["is_by_thread"] = array(std::move(is_by_thread));
  out["is_unsure"] = array(std::move(is_unsure));
  return out;
}

void make_step_changes(StepChanges* self, const RunSteps& steps, const Input<uint32_t>& step,
                       const Input<double>& wait_ns, const Input<double>& work_factor) {
  constexpr double kMost = 1e18;
  const size_t rows = step.shape(0), size = steps.steps().size();
  const double *waits = checked(wait_ns, rows), *factors = checked(work_factor, rows);
  new (self) StepChanges();
  self->wait_ns.assign(size, -1.0);
  self->work_factor.assign(size, 1.0);
  for (size_t i = 0; i < rows; ++i) {
    if (step.data()[i] >= size) throw nb::value_error("a step of another run");
    if (!(waits[i] <= kMost) || !(factors[i] >= 0 && factors[i] <= kMost))
      throw nb::value_error("a change that is none");
    self->wait_ns[step.data()[i]] = waits[i];
    self->work_factor[step.data()[i]] = factors[i];
  }
}

nb::list replay(const std::vector<const RunSteps*>& runs, const std::vector<int32_t>& last, double cores,
                bool has_stolen, double work_factor, double io_factor, double waking_factor, bool has_collections,
                bool has_lock_waits, const std::vector<const LockPlan*>& plans,
                const std::vector<const StepChanges*>& changed, double per_core, double throughput,
                const std::vector<ReplayTimeline*>& timelines, const std::vector<std::vector<uint32_t>>& workers) {
  const bool has_timelines = !timelines.empty();
  if (runs.size() != last.size() || runs.size() != plans.size() || runs.size() != changed.size() ||
      (has_timelines && runs.size() != timelines.size())) {
    throw nb::value_error("columns of different length");
  }
  for (const double each : {cores, work_factor, io_factor, waking_factor, per_core, throughput}) {
    if (!std::isfinite(each) || each < 0) throw nb::value_error("a factor that is none");
  }
  if (cores < 1) throw nb::value_error("less than one core");
  if (per_core < 1 || per_core > cores || throughput < 1 || throughput > per_core) {
    throw nb::value_error("a core that is none");
  }
  std::vector<ReplayRun> asked;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (plans[i] != nullptr && plans[i]->is_decided.size() != runs[i]->steps().size()) {
      throw nb::value_error("a plan of another run");
    }
    if (changed[i] != nullptr && changed[i]->wait_ns.size() != runs[i]->steps().size()) {
      throw nb::value_error("changes of another run");
    }
    ReplayTimeline* timeline = has_timelines ? timelines[i] : nullptr;
    if (timeline != nullptr && !timeline->is_new_of(*runs[i])) throw nb::value_error("a timeline of another replay");
    asked.push_back({runs[i], plans[i], last[i], changed[i], timeline, {}});
    if (i < workers.size()) asked.back().workers = workers[i];
    if (asked.back().workers.size() < runs[i]->pools()) throw nb::value_error("a pool without workers");
    for (const uint32_t each : asked.back().workers) {
      if (each < 1 || each > kMostWorkers) throw nb::value_error("a number of workers that is none");
    }
  }
  const ReplayChanges changes{cores,         has_stolen,      work_factor,    io_factor,
                              waking_factor, has_collections, has_lock_waits, {per_core, throughput}};
  std::vector<Replayed> found;
  {
    nb::gil_scoped_release unlocked;
    found = replay_on_cores(asked, changes);
  }
  nb::list out;
  for (size_t i = 0; i < found.size(); ++i) {
    const Replayed& each = found[i];
    const ReplayLevels& levels = each.levels;
    const std::vector<double> by_level{levels.none_ns, levels.one_ns, levels.few_ns, levels.all_ns, levels.many_ns};
    const auto waits = plans[i] == nullptr ? std::vector<double>{} : by_recorded_lock(*plans[i], each.lock_waits_ns);
    out.append(
        nb::make_tuple(each.end_ns, by_level, each.free_ns, each.lock_limited_ns, waits, each.forced, each.most_ahead));
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
      .def("tell_waits", &tell_waits, nb::kw_only(), nb::arg("thread"), nb::arg("start_ns"), nb::arg("end_ns"),
           nb::arg("blocker"),
           "Every wait that the JVM tells of, in order of (thread, start): whoever waits for a time outside of them "
           "sleeps.")
      .def("tell_ends", &tell_ends, nb::arg("has_ended"),
           "Which threads ended: who waits for one that it started waits for those that had ended before, too.")
      .def("resolve", &resolve, nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("vm_thread"), nb::arg("lock_thread"),
           nb::arg("lock_start_ns"), nb::arg("lock_end_ns"), nb::arg("answered_thread"), nb::arg("answered_woken_ns"),
           "There are no more slices. Collections that stopped all threads, in any order; waits for locks, in order of "
           "(thread, start); waits for I/O that a thread of the run ended by an interrupt, in order of (thread, end).")
      .def("program_steps", &program_steps, "The steps of the program's threads, in order of thread and time.")
      .def("with_tasks", &split_in_tasks, nb::kw_only(), nb::arg("thread"), nb::arg("begin_ns"), nb::arg("pool"),
           nb::arg("has_wait"), nb::arg("submitter"), nb::arg("submitted_ns"), nb::arg("join_thread"),
           nb::arg("join_ns"), nb::arg("join_since_ns"), nb::arg("join_pool"),
           "The run with tasks instead of the pools' threads that ran them; see native/replay/pool_tasks.h.")
      .def("figures", &figures, "Numbers of slices and signals, and how long threads waited, by what ended it.");
  nb::class_<LockAcquisitions>(m, "LockAcquisitions", "Who had which lock when; see native/replay/lock_acquisitions.h.")
      .def("__init__", &make_acquisitions, nb::kw_only(), nb::arg("lock"), nb::arg("thread"), nb::arg("waker"),
           nb::arg("owner"), nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("waking_ns"), nb::arg("is_repark"),
           nb::arg("is_monitor_wait"), nb::arg("hold_lock"), nb::arg("hold_thread"), nb::arg("hold_start_ns"),
           nb::arg("hold_end_ns"), "Waits for locks numbered 0.., and holds, in any order.")
      .def("columns", &columns_of, "The acquisitions, by lock and time.");
  nb::class_<LockPlan>(m, "LockPlan",
                       "Acquisitions of locks in a run, as after a change; see native/replay/lock_plan.h.")
      .def("__init__", &make_plan, nb::kw_only(), nb::arg("steps"), nb::arg("acquired"), nb::arg("is_removed"),
           nb::arg("held_part"), nb::arg("parts"), nb::arg("is_fair"), nb::arg("seed"),
           "A change of each lock; `seed` decides which part of a split lock is asked for.");
  nb::class_<StepChanges>(m, "StepChanges", "Changes of single steps of a run; see native/replay/step_changes.h.")
      .def("__init__", &make_step_changes, nb::kw_only(), nb::arg("steps"), nb::arg("step"), nb::arg("wait_ns"),
           nb::arg("work_factor"), "By places in the run's steps; a negative wait stays as it was.");
  m.def("replay_on_cores", &replay, nb::kw_only(), nb::arg("runs"), nb::arg("last"), nb::arg("cores"),
        nb::arg("has_stolen"), nb::arg("work_factor"), nb::arg("io_factor"), nb::arg("waking_factor"),
        nb::arg("has_collections"), nb::arg("has_lock_waits"), nb::arg("plans"), nb::arg("changed"),
        nb::arg("per_core"), nb::arg("throughput"), nb::arg("timelines") = std::vector<ReplayTimeline*>(),
        nb::arg("workers") = std::vector<std::vector<uint32_t>>(),
        "`workers`: of each run the number of workers of each pool (RunSteps.with_tasks). Of each run: when it ends "
        "(negative: it is stuck), for how long no thread was ready, one, fewer than "
        "cores, as many, more, how long a core was free, of that while threads waited for locks, the waiting by lock, "
        "how many waits had to be ended, and how many that a change ended were ahead of the other thread at most. See "
        "native/replay/core_replay.h.");
}

}  // namespace headway
