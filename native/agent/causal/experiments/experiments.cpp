// Experiments are run by a Java thread of headway's own, an agent thread as those of locks and of the sampler are. For
// some time one line is made faster by a percentage; how often progress points were visited meanwhile says what that
// would bring (docs/decisions/0008-causal.md).
#include "agent/causal/experiments/experiments.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/causal/blocking/blocking.h"
#include "agent/causal/common/activity.h"
#include "agent/causal/common/notes.h"
#include "agent/causal/common/options.h"
#include "agent/causal/experiments/controls.h"
#include "agent/causal/experiments/core_waits.h"
#include "agent/causal/experiments/lost_files.h"
#include "agent/causal/experiments/planner.h"
#include "agent/causal/experiments/progress_notes.h"
#include "agent/causal/experiments/readings.h"
#include "agent/causal/ledger/epochs.h"
#include "agent/causal/ledger/ledger.h"
#include "agent/causal/ledger/settle.h"
#include "agent/causal/points/points.h"
#include "agent/causal/sampling/callers.h"
#include "agent/causal/sampling/sample_sums.h"
#include "agent/causal/sampling/sampled_threads.h"
#include "agent/causal/sampling/sampling.h"
#include "agent/causal/sections/lock_target.h"
#include "agent/causal/target/tally.h"
#include "agent/causal/target/target.h"
#include "agent/core/clock.h"
#include "agent/hooks/jdk_hooks.h"
#include "agent/jvm/agent_thread.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/state/state.h"
#include "cpus/cpus.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kTickNs = 100 * kMillisecond;  // how soon a wish to stop is noticed
constexpr int64_t kHealthNs = 5 * kSecond;
constexpr int64_t kCoolDownNs = 10 * kMillisecond;  // who sleeps for a debt sleeps in slices of 5 ms
constexpr int64_t kNoEnd = INT64_MAX;               // of a run that is one experiment
constexpr jlong kPatienceMs = 5'000;
// Between stops, by chance: who is stopped again soon has no time to lose all that a stop costs.
constexpr int64_t kBetweenStopsNs[Controls::kKinds] = {kMillisecond, 4 * kMillisecond};
constexpr int64_t kLongestControlNs = 500 * kMillisecond;  // for most of which everything stands still
constexpr int kTicksOfCrowd = 5;                           // between looks at that, in a run that is one experiment
// Payments spin from so many runnable threads a core on, and go on doing so down to the other number. Where cores are
// to spare, a thread that sleeps for its debt keeps nobody else from paying at the same time; where there are none, it
// would hand its core to one that works, and nothing would be delayed.
constexpr double kCrowded = 1.2;
constexpr double kRoomy = 1.05;

enum class State {
  kOff,
  kStarting,
  kOn,
  kLeaving,  // all notes are written; the program's classes get their own code back
};
enum class Mode { kExperiments, kEndToEnd, kSuggest };

struct Experiments {
  // Guards `state`; the thread sleeps in it. Never entered while classes are retransformed: that calls other agents, which may
  // never come back, and whoever ends the JVM enters it.
  jrawMonitorID monitor = nullptr;
  State state = State::kOff;
  std::atomic<bool> wanted{false};
  std::atomic<uint32_t> generation{0};  // counts recordings: a thread of an older one ends
  std::atomic<bool> program_ends{false};
  Mode mode = Mode::kExperiments;
};
constinit Experiments self;

bool is_crowded(double runnable, bool was) { return runnable > (was ? kRoomy : kCrowded) * allowed_cpu_count(); }

// --- one experiment --------------------------------------------------------------------------------------------------

class Experiment {
 public:
  Experiment(int number, Active active, bool spin, int64_t dur_ns) : number_(number), active_(active), spin_(spin) {
    change_epoch(spin);
    waits_.begin();
    target.counts.clear();
    begin_ = read_points();
    begin_stood_ns_ = ledger().stood_ns();
    begin_clock_ns_ = begin_.ns - inserted_ns();
    target.began_ns = begin_.ns;
    target.paid_ns = 0;
    target.ends_ns = dur_ns == kNoEnd ? kNoEnd : begin_.ns + dur_ns;
    active_.experiment = ledger().experiment();
    active_.is_on = 1;
    target.active = active_;
    tell_sleeps_of_before();
  }

  int64_t begin_ns() const { return begin_.ns; }

  // All threads stand still for that long, and nothing is faster.
  void stop_all(int64_t ns) {
    is_control_ = true;
    if (ledger().stop_all(ns, active_.experiment)) call_to_pay();
  }

  // And how its threads pay changes with how crowded cores are.
  void look_at_cores() {
    waits_.end();
    waited_ns_ += waits_.waited_ns();
    const bool spin = is_crowded(waits_.runnable(), spin_);
    waits_.begin();
    if (spin != spin_) set_spinning(spin_ = spin);
  }

  Outcome end(bool is_complete) {
    const Reading end = read_points();
    end_stood_ns_ = ledger().stood_ns();
    active_.line = target.active.load().line;  // of a run that is one experiment the class may have come since
    target.active = Active{};  // before the counts are read: who lost its core here must not count more than it delayed
    waits_.end();
    write(end, is_complete);
    uint64_t most = 0;
    for (size_t point = 0; point < end.points.size(); ++point) most = std::max(most, between(begin_, end, point).count);
    return {.visits = most, .hits = target.counts.hits.load()};
  }

  double runnable() const { return waits_.runnable(); }

 private:
  void write(const Reading& end, bool is_complete) const {
    if (active_.line != 0) introduce_line(active_.line);
    const Counts& counts = target.counts;
    std::string fields;
    const auto add = [&fields](const char* key, int64_t value) {
      if (!fields.empty()) fields += ',';
      fields += std::string("\"") + key + "\":" + std::to_string(value);
    };
    add("id", number_);
    add("target", active_.line == 0 ? -1 : static_cast<int64_t>(active_.line));
    add("speedup_pct", active_.speedup_pct);
    add("start_ns", begin_.ns);
    add("dur_ns", end.ns - begin_.ns);
    add("delay_ns", end.delay_ns - begin_.delay_ns);
    add("gc_ns", counts.collections_ns);
    add("gcs", static_cast<int64_t>(counts.collections.load()));
    add("hits_ns", counts.hits_ns);
    add("all_hits_ns", counts.all_hits_ns);
    add("hits", static_cast<int64_t>(counts.hits.load()));
    add("samples", static_cast<int64_t>(counts.samples.load()));
    add("sampled_ns", counts.sampled_ns);
    add("ran_ns", counts.ran_ns);
    add("stood_ns", end_stood_ns_ - begin_stood_ns_);
    add("control", is_control_ ? 1 : 0);
    add("waited_ns", waited_ns_ + waits_.waited_ns());
    add("spin", spin_ ? 1 : 0);
    fields += ",\"visits\":[";
    for (size_t point = 0; point < end.points.size(); ++point) {
      fields += std::string(point == 0 ? "[" : ",[") + std::to_string(point) + ',' +
                std::to_string(between(begin_, end, point).count) + ']';
    }
    fields += "],\"latency\":[" + latency_rows(latency_pairs(), begin_, end, begin_clock_ns_) + ']';
    add("complete", is_complete ? 1 : 0);
    note("experiment", fields);
  }

  int number_;
  Active active_;
  bool spin_;
  CoreWaits waits_;
  int64_t begin_stood_ns_ = 0;
  int64_t end_stood_ns_ = 0;
  bool is_control_ = false;
  int64_t waited_ns_ = 0;  // before the last look at the cores
  Reading begin_;
  int64_t begin_clock_ns_ = 0;
};

// --- the thread ------------------------------------------------------------------------------------------------------

class Loop {
 public:
  Loop(JNIEnv* jni, uint32_t generation) : jni_(jni), generation_(generation), planner_(planner_options()) {}

  void run(std::optional<Experiment>& whole) {
    if (self.mode == Mode::kExperiments) {
      for (bool goes_on = wait(monotonic_ns() + causal_spec().warmup_ns); goes_on;) goes_on = step();
      return;
    }
    for (int tick = 0; wait(monotonic_ns() + kTickNs); ++tick) {
      if (!whole) continue;
      find_target();
      if (tick % kTicksOfCrowd == 0) whole->look_at_cores();
    }
    if (whole) whole->end(self.program_ends);
  }

 private:
  static PlannerOptions planner_options() {
    const Spec& spec = causal_spec();
    return {.seed = spec.seed,
            .min_visits = spec.min_visits,
            .fixed_ns = spec.experiment_ns,
            .fixed_line = 0,
            .fixed_speedup_pct = spec.speedup_pct};
  }

  bool is_wanted() const {
    return self.wanted.load() && self.generation.load() == generation_ && recording() != nullptr;
  }

  // False: the recording is to end.
  bool wait(int64_t until_ns) {
    for (;;) {
      if (!is_wanted()) return false;
      const int64_t now = monotonic_ns();
      tick(now);
      if (now >= until_ns) return true;
      const int64_t left_ns = std::min(until_ns - now, kTickNs);
      const Locked locked(self.monitor);
      if (is_wanted()) agent().jvmti->RawMonitorWait(self.monitor, std::max<jlong>(1, left_ns / kMillisecond));
    }
  }

  // Reported each second, however long an experiment lasts.
  void tick(int64_t now) {
    if (now - ticked_ns_ < kSecond) return;
    ticked_ns_ = now;
    if (notes_are_given_up()) self.wanted = false;
    poll_files();
    note_hits();
    note_profile(false);
    if (jni_->PushLocalFrame(64) == JNI_OK) {
      poll_points(jni_);
      poll_hooks(jni_);
      jni_->PopLocalFrame(nullptr);
    }
    jni_->ExceptionClear();
    if (now - healthy_ns_ < kHealthNs) return;
    healthy_ns_ = now;
    note_health();
    if (self.mode == Mode::kSuggest) note("callers", callers_fields());
  }

  bool step() {
    const TargetKind kind = causal_spec().target.kind;
    const uint32_t fixed = asked_target();
    planner_.fix_line(fixed);
    const auto recent = recent_.candidates(monotonic_ns());
    const Plan plan = kind != TargetKind::kNone && fixed == 0 ? Plan{} : planner_.next(recent);
    if (plan.line == 0) return wait(monotonic_ns() + kTickNs);  // nothing in scope has run so far
    if (plan.begins_pair) spin_ = is_crowded(runnable_, spin_);
    Experiment experiment(number_++, active_at(plan.line, plan.speedup_pct, kind), spin_, plan.dur_ns);
    const bool is_complete = wait(experiment.begin_ns() + plan.dur_ns);
    planner_.finished(plan, experiment.end(is_complete));
    if (!is_complete) return false;
    if (plan.speedup_pct == 0) runnable_ = (runnable_ + experiment.runnable()) / 2;
    if (!cool_down()) return false;
    const bool may_control = !spin_ && plan.speedup_pct > 0 && kind != TargetKind::kCollections;
    return !may_control || !controls_.is_next() || control(plan);
  }

  // Nothing is faster, but all stand still again and again: what that costs beyond the time itself shows. Not where
  // cores are taken: there a payment is CPU time, and how long that takes depends on who else wants the core. At
  // random: what the program does from time to time (a collection) would else fall in step with it.
  bool control(const Plan& plan) {
    Experiment experiment(number_++, active_at(plan.line, 0, causal_spec().target.kind), spin_, plan.dur_ns);
    const int64_t end_ns = experiment.begin_ns() + std::min(plan.dur_ns, kLongestControlNs);
    const int64_t between_ns = kBetweenStopsNs[controls_.kind()];
    bool goes_on = wait(monotonic_ns() + between_ns);
    while (goes_on && monotonic_ns() + Ledger::kMostStoodNs + between_ns <= end_ns) {
      experiment.stop_all(Ledger::kMostStoodNs);
      goes_on = wait(monotonic_ns() + Ledger::kMostStoodNs + between_ns);
    }
    goes_on = goes_on && wait(end_ns);
    experiment.end(goes_on);
    return goes_on && cool_down();
  }

  // Who pays stops paying, and is sampled once without owing anything.
  bool cool_down() {
    change_epoch(spin_);
    return wait(monotonic_ns() + std::max(kCoolDownNs, 2 * causal_spec().period_ns));
  }

  JNIEnv* jni_;
  uint32_t generation_;
  Planner planner_;
  Recent recent_;
  int number_ = 0;
  Controls controls_;
  bool spin_ = false;
  double runnable_ = 0;  // threads at a time, at 0 %
  int64_t ticked_ns_ = 0;
  int64_t healthy_ns_ = 0;
};

Mode mode_of(const Spec& spec) {
  if (spec.suggest) return Mode::kSuggest;
  return spec.speedup_pct != kNoSpeedup && spec.experiment_ns == 0 ? Mode::kEndToEnd : Mode::kExperiments;
}

void note_begin(const Spec& spec) {
  constexpr const char* kModes[] = {"experiments", "end-to-end", "suggest"};
  begin_notes(
      "\"pid\":" + std::to_string(getpid()) + ",\"jdk\":" + std::to_string(agent().jdk_major) + ",\"timer\":\"" +
      (timers_are_perf() ? "perf" : "posix") + "\",\"period_ns\":" + std::to_string(spec.period_ns) +
      ",\"cores\":" + std::to_string(allowed_cpu_count()) + ",\"mode\":\"" + kModes[static_cast<int>(self.mode)] + '"');
}

// On the thread of the experiments, or when it can't be had on whoever ends the recording: what is known is written.
void conclude(JNIEnv* jni) {
  const Locked locked(self.monitor);
  causal_is_on = false;
  target.active = Active{};
  stop_sampling();
  stop_blocking(jni);
  poll_sections(true);
  note_profile(true);
  note_hits();
  note_health();
  if (self.mode == Mode::kSuggest) note("callers", callers_fields());
  close_notes();
  self.state = State::kLeaving;
  agent().jvmti->RawMonitorNotifyAll(self.monitor);
}

// After conclude(). Other agents have their say in it.
void leave_program(JNIEnv* jni) {
  if (!self.program_ends && jni != nullptr) {
    remove_hooks(jni, HookUse::kCausal);
    disarm_points(jni);
  }
  const Locked locked(self.monitor);
  self.state = State::kOff;
  agent().jvmti->RawMonitorNotifyAll(self.monitor);
}

bool is_on(uint32_t generation) {
  const Locked locked(self.monitor);
  return self.generation.load() == generation && self.state == State::kOn;
}

void JNICALL run_experiments(jvmtiEnv* jvmti, JNIEnv* jni, void* generation) {
  const auto mine = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(generation));
  std::optional<Experiment> whole;
  {
    const Locked locked(self.monitor);
    if (self.generation.load() != mine || self.state != State::kStarting) return;
    target.is_whole_run = self.mode == Mode::kEndToEnd;
    if (self.mode == Mode::kEndToEnd) {
      const Spec& spec = causal_spec();
      whole.emplace(0, active_at(asked_target(), spec.speedup_pct, spec.target.kind), false, kNoEnd);
    }
    self.state = State::kOn;
    jvmti->RawMonitorNotifyAll(self.monitor);
  }
  Loop(jni, mine).run(whole);
  if (!is_on(mine)) return;
  conclude(jni);
  leave_program(jni);
}

bool start_thread(JNIEnv* jni) {
  const uint32_t generation = self.generation.fetch_add(1) + 1;
  jthread thread = new_headway_thread(jni);
  void* argument = reinterpret_cast<void*>(static_cast<uintptr_t>(generation));
  return thread != nullptr && agent().jvmti->RunAgentThread(thread, run_experiments, argument,
                                                            JVMTI_THREAD_MAX_PRIORITY) == JVMTI_ERROR_NONE;
}

// Under the lock. Waits until the thread has left that state, for some seconds at most.
void wait_while(State state) {
  const int64_t end_ns = monotonic_ns() + kPatienceMs * kMillisecond;
  while (self.state == state && monotonic_ns() < end_ns) agent().jvmti->RawMonitorWait(self.monitor, kPatienceMs);
}

// By whoever has set the state to kStarting. What can't be had has been said by problem().
bool turn_on(JNIEnv* jni) {
  clear_tally();
  set_sample_listener(take_sample);
  target.counts.clear();
  forget_inserted();
  causal_is_on = true;
  const Spec& spec = causal_spec();
  for (const std::string& text : spec.problems) problem("HW609", text);
  const bool is_suggesting = self.mode == Mode::kSuggest;
  clear_callers();
  count_whole_stacks(is_suggesting);
  const bool samples = (start_blocking(jni) && start_sampling(jni)) || is_suggesting;
  note_begin(spec);
  arm_points(jni);
  if (!samples || !start_thread(jni)) return false;
  const Locked locked(self.monitor);
  wait_while(State::kStarting);
  return self.state != State::kStarting;
}

// kStarting: it has become that just now, as it was kOff and the program goes on. Else the state that stays as it is.
State claim() {
  const Locked locked(self.monitor);
  if (self.state != State::kOff || self.program_ends) return self.state == State::kStarting ? State::kOn : self.state;
  self.wanted = true;
  return self.state = State::kStarting;
}

// The notes of a recording that can't be had, as another agent has not let go of the classes of the one before.
void note_refusal() {
  note_begin(parse_spec(agent().options.causal));
  problem("HW609", "another agent has not let the classes of the recording before this one be changed back");
  close_notes();
}

void begin_claimed(JNIEnv* jni, const std::string& spool) {
  set_causal_spec(parse_spec(agent().options.causal));
  self.mode = mode_of(causal_spec());
  if (!open_notes(spool)) {
    const Locked locked(self.monitor);
    self.state = State::kOff;
  } else if (!turn_on(jni)) {
    problem("HW609", "the JVM gives experiments no samples or no thread");
    conclude(jni);
    leave_program(jni);
  }
}

}  // namespace

void begin_causal(JNIEnv* jni) noexcept {
  const ChunkFile* const file = recording();
  if (agent().options.causal.empty() || file == nullptr || jni->PushLocalFrame(64) != JNI_OK) return;
  end_causal();  // of a recording before this one, whose recorder died
  if (self.monitor != nullptr || agent().jvmti->CreateRawMonitor("headway causal", &self.monitor) == JVMTI_ERROR_NONE) {
    const State state = claim();
    if (state == State::kStarting) begin_claimed(jni, file->path());
    if (state == State::kLeaving && open_notes(file->path())) note_refusal();
  }
  jni->PopLocalFrame(nullptr);
}

void wake_causal() noexcept { self.wanted = false; }

void end_causal(bool with_program) noexcept {
  self.wanted = false;
  if (with_program) self.program_ends = true;
  if (self.monitor == nullptr) return;
  const Locked locked(self.monitor);
  // On its own thread: it knows how far the experiment has come.
  agent().jvmti->RawMonitorNotifyAll(self.monitor);
  wait_while(State::kOn);
  wait_while(State::kLeaving);
}

}  // namespace headway::agent::causal
