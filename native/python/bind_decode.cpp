// The decoder for Python: columns as NumPy arrays that own their memory. record/finalise/finalise.py is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "decode/decoder.h"
#include "decode/parallelism/reverse_parallelism.h"

namespace nb = nanobind;

namespace headway {
namespace {

// Names are bytes: nobody promises that they are UTF-8.
nb::bytes comm_of(const ThreadLife& life) {
  size_t length = 0;
  while (length < HW_COMM_BYTES && life.comm[length] != 0) ++length;
  return nb::bytes(life.comm, length);
}

nb::dict lifecycle(const Decoder& decoder) {
  const auto& lives = decoder.lifecycle().lives;
  nb::list comm;
  for (const ThreadLife& life : lives) comm.append(comm_of(life));
  nb::dict out;
  out["pid"] = column(lives, [](const ThreadLife& t) { return t.pid; });
  out["tid"] = column(lives, [](const ThreadLife& t) { return t.tid; });
  out["ns_tid"] = column(lives, [](const ThreadLife& t) { return t.ns_tid; });
  out["parent_tid"] = column(lives, [](const ThreadLife& t) { return t.parent_tid; });
  out["parent_pid"] = column(lives, [](const ThreadLife& t) { return t.parent_pid; });
  out["start_ns"] = column(lives, [](const ThreadLife& t) { return t.start_ns; });
  out["end_ns"] = column(lives, [](const ThreadLife& t) { return t.end_ns; });
  out["exit_exec_ns"] = column(lives, [](const ThreadLife& t) { return t.exit_exec_ns; });
  out["exit_code"] = column(lives, [](const ThreadLife& t) { return t.exit_code; });
  out["first_exec_at_ns"] = column(lives, [](const ThreadLife& t) { return t.first_exec_at_ns; });
  out["from_snapshot"] = column(lives, [](const ThreadLife& t) { return static_cast<uint8_t>(t.from_snapshot); });
  out["comm"] = comm;
  return out;
}

// Texts as numbers of a list that comes with them.
nb::dict allocations_of(const AllocationRecords& records) {
  const auto& rows = records.rows;
  nb::list texts;
  for (const std::string& text : records.texts.texts()) texts.append(bytes_of(text));
  nb::dict out;
  out["texts"] = texts;
  out["java_id"] = column(rows, [](const AllocationRow& r) { return static_cast<int64_t>(r.java_id); });
  out["class"] = column(rows, [](const AllocationRow& r) { return r.class_name; });
  out["site_class"] = column(rows, [](const AllocationRow& r) { return r.site_class; });
  out["site_method"] = column(rows, [](const AllocationRow& r) { return r.site_method; });
  out["site_line"] = column(rows, [](const AllocationRow& r) { return r.site_line; });
  out["objects"] = column(rows, [](const AllocationRow& r) { return static_cast<int64_t>(r.objects); });
  out["bytes"] = column(rows, [](const AllocationRow& r) { return static_cast<int64_t>(r.bytes); });
  out["array_length"] = column(rows, [](const AllocationRow& r) { return static_cast<int64_t>(r.array_length); });
  constexpr const char* kNames[] = {"all_objects",      "all_bytes",      "all_array_length",
                                    "objects_variance", "bytes_variance", "array_length_variance"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    out[kNames[i]] = column(rows, [i](const AllocationRow& r) { return r.estimates[i]; });
  }
  return out;
}

constexpr const char* kAccessKinds[HW_ACCESS_KINDS] = {"tuple_reads",  "tuple_writes", "array_reads",
                                                       "array_writes", "static_reads", "static_writes"};

nb::dict access_pairs_of(const std::vector<AccessPairRow>& pairs) {
  nb::dict out;
  out["java_id"] = column(pairs, [](const AccessPairRow& r) { return static_cast<int64_t>(r.java_id); });
  out["owner_id"] = column(pairs, [](const AccessPairRow& r) { return static_cast<int64_t>(r.owner_id); });
  for (size_t i = 0; i < HW_OWNED_KINDS; ++i) {
    out[kAccessKinds[i]] = column(pairs, [i](const AccessPairRow& r) { return static_cast<int64_t>(r.counts[i]); });
  }
  return out;
}

nb::dict access_windows_of(const std::vector<AccessWindowRow>& windows) {
  nb::dict out;
  out["java_id"] = column(windows, [](const AccessWindowRow& r) { return static_cast<int64_t>(r.java_id); });
  out["group"] = column(windows, [](const AccessWindowRow& r) { return r.group; });
  constexpr const char* kSums[HW_WINDOW_SUMS] = {"cpu_in_ns",     "cpu_own_ns",    "cpu_between_ns",
                                                 "cpu_before_ns", "cpu_unseen_ns", "marks",
                                                 "marks_in",      "marks_wrong",   "marks_largest"};
  for (size_t i = 0; i < HW_WINDOW_SUMS; ++i) {
    out[kSums[i]] = column(windows, [i](const AccessWindowRow& r) { return static_cast<int64_t>(r.sums[i]); });
  }
  return out;
}

// Of each row those of objects whose owner is known by one rule.
nb::dict owned_of(const std::vector<AccessRow>& rows, OwnedCounts AccessRow::*rule) {
  nb::dict out;
  for (size_t i = 0; i < HW_OWNED_KINDS; ++i) {
    const std::string name = kAccessKinds[i];
    out[(name + "_local").c_str()] =
        column(rows, [=](const AccessRow& r) { return static_cast<int64_t>((r.*rule).local[i]); });
    out[(name + "_shared").c_str()] =
        column(rows, [=](const AccessRow& r) { return static_cast<int64_t>((r.*rule).shared[i]); });
  }
  return out;
}

// Class names as numbers of the list `texts` of allocations.
nb::dict accesses_of(const AccessRecords& records) {
  const auto& rows = records.rows;
  nb::dict out;
  out["java_id"] = column(rows, [](const AccessRow& r) { return static_cast<int64_t>(r.java_id); });
  out["class"] = column(rows, [](const AccessRow& r) { return r.class_name; });
  for (size_t i = 0; i < HW_ACCESS_KINDS; ++i) {
    out[kAccessKinds[i]] = column(rows, [i](const AccessRow& r) { return static_cast<int64_t>(r.counts[i]); });
  }
  out["group"] = column(rows, [](const AccessRow& r) { return r.group; });
  nb::dict owned, pairs;
  owned["allocator"] = owned_of(rows, &AccessRow::allocator);
  owned["last-writer"] = owned_of(rows, &AccessRow::last_writer);
  pairs["allocator"] = access_pairs_of(records.pairs);
  pairs["last-writer"] = access_pairs_of(records.writer_pairs);
  out["owned"] = owned;
  out["pairs"] = pairs;
  out["windows"] = access_windows_of(records.windows);
  return out;
}

// Names of places as numbers of the same list.
nb::dict lines_of(const LineRecords& records) {
  const auto& writes = records.writes;
  const auto& shares = records.shares;
  nb::dict out, of_writes, of_shares;
  of_writes["java_id"] = column(writes, [](const LineWritesRow& r) { return static_cast<int64_t>(r.java_id); });
  of_writes["place"] = column(writes, [](const LineWritesRow& r) { return r.place_name; });
  of_writes["offset"] = column(writes, [](const LineWritesRow& r) { return static_cast<int32_t>(r.offset); });
  of_writes["writes"] = column(writes, [](const LineWritesRow& r) { return static_cast<int64_t>(r.writes); });
  of_shares["java_id"] = column(shares, [](const LineShareRow& r) { return static_cast<int64_t>(r.java_id); });
  of_shares["other_id"] = column(shares, [](const LineShareRow& r) { return static_cast<int64_t>(r.other_id); });
  of_shares["place"] = column(shares, [](const LineShareRow& r) { return r.place_name; });
  of_shares["other_place"] = column(shares, [](const LineShareRow& r) { return r.other_place_name; });
  of_shares["kind"] = column(shares, [](const LineShareRow& r) { return static_cast<int32_t>(r.kind); });
  of_shares["same_object"] = column(shares, [](const LineShareRow& r) { return static_cast<int32_t>(r.same_object); });
  of_shares["writes"] = column(shares, [](const LineShareRow& r) { return static_cast<int64_t>(r.writes); });
  out["writes"] = of_writes;
  out["shares"] = of_shares;
  return out;
}

nb::dict nodes_of(const NodeRecords& records) {
  const auto& rows = records.rows;
  nb::dict out;
  out["java_id"] = column(rows, [](const NodeRow& r) { return static_cast<int64_t>(r.java_id); });
  out["class"] = column(rows, [](const NodeRow& r) { return r.class_name; });
  out["owner_id"] = column(rows, [](const NodeRow& r) { return static_cast<int64_t>(r.owner_id); });
  out["type"] = column(rows, [](const NodeRow& r) { return static_cast<int32_t>(r.type); });
  out["kind"] = column(rows, [](const NodeRow& r) { return static_cast<int32_t>(r.kind); });
  out["cpu_node"] = column(rows, [](const NodeRow& r) { return static_cast<int32_t>(r.cpu_node); });
  out["page_node"] = column(rows, [](const NodeRow& r) { return static_cast<int32_t>(r.page_node); });
  out["samples"] = column(rows, [](const NodeRow& r) { return static_cast<int64_t>(r.samples); });
  out["accesses"] = column(rows, [](const NodeRow& r) { return static_cast<int64_t>(r.accesses); });
  return out;
}

nb::list agents(const Decoder& decoder) {
  nb::list out;
  for (const AgentFile& file : decoder.agents()) {
    nb::list threads, phases, facts;
    for (const JavaThread& t : file.threads) {
      threads.append(nb::make_tuple(t.tid, t.start_ns, t.end_ns, t.cpu_ns, t.java_id, t.flags, bytes_of(t.name),
                                    bytes_of(t.group)));
    }
    for (const JvmPhase& p : file.phases) {
      phases.append(nb::make_tuple(p.start_ns, p.end_ns, p.kind, bytes_of(p.cause)));
    }
    for (const JvmFact& f : file.facts) facts.append(nb::make_tuple(bytes_of(f.key), bytes_of(f.value)));
    nb::dict agent;
    agent["path"] = file.path;
    agent["pid"] = file.pid;
    agent["created_ns"] = file.created_ns;
    agent["lost"] = file.lost;
    agent["is_cut"] = file.is_cut;
    agent["virtual_threads"] = file.virtual_threads;
    nb::dict mounts;
    mounts["tid"] = column(file.mounts, [](const Mount& m) { return m.tid; });
    mounts["java_id"] = column(file.mounts, [](const Mount& m) { return static_cast<int64_t>(m.java_id); });
    mounts["start_ns"] = column(file.mounts, [](const Mount& m) { return m.start_ns; });
    mounts["end_ns"] = column(file.mounts, [](const Mount& m) { return m.end_ns; });
    agent["mounts"] = mounts;
    agent["threads"] = threads;
    agent["phases"] = phases;
    agent["facts"] = facts;
    agent["allocations"] = allocations_of(file.allocations);
    agent["accesses"] = accesses_of(file.accesses);
    agent["lines"] = lines_of(file.lines);
    agent["nodes"] = nodes_of(file.nodes);
    out.append(agent);
  }
  return out;
}

nb::object slices_or_none(Decoder& decoder, size_t rows) {
  SliceBatch s;
  {
    nb::gil_scoped_release unlocked;
    while (decoder.next(rows, &s) && s.size() == 0) {
    }
  }
  if (s.size() == 0) return nb::none();
  nb::dict out;
  out["thread_id"] = array(std::move(s.thread_id));
  out["end_ticks"] = array(std::move(s.end_ticks));
  out["running_ticks"] = array(std::move(s.running_ticks));
  out["runnable_ticks"] = array(std::move(s.runnable_ticks));
  out["blocked_ticks"] = array(std::move(s.blocked_ticks));
  out["stolen_ticks"] = array(std::move(s.stolen_ticks));
  out["waker_id"] = array(std::move(s.waker_id));
  out["cpu"] = array(std::move(s.cpu));
  out["flags"] = array(std::move(s.flags));
  out["blocked_in"] = array(std::move(s.blocked_in));
  const size_t counters = decoder.counted().counters;
  for (size_t i = 0; i < s.counts.size(); ++i) {
    const std::string name = i < counters ? "count_" + std::to_string(i) : "uncounted_" + std::to_string(i - counters);
    out[name.c_str()] = array(std::move(s.counts[i]));
  }
  return out;
}

nb::dict activity_columns(const std::vector<ActivityRow>& rows) {
  nb::dict out;
  out["bin_start_ns"] = column(rows, [](const ActivityRow& r) { return r.bin_start_ns; });
  out["dur_ns"] = column(rows, [](const ActivityRow& r) { return r.dur_ns; });
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::string name = kKindNames[kind];
    out[("active_" + name).c_str()] =
        column(rows, [kind](const ActivityRow& r) { return static_cast<int32_t>(r.levels.active[kind]); });
    out[("running_" + name).c_str()] =
        column(rows, [kind](const ActivityRow& r) { return static_cast<int32_t>(r.levels.running[kind]); });
  }
  out["stolen_ns"] = column(rows, [](const ActivityRow& r) { return r.stolen_ns; });
  return out;
}

nb::dict sweep_columns(const std::vector<ThreadParallelism>& threads) {
  nb::dict out;
  out["active_ns"] = column(threads, [](const ThreadParallelism& t) { return t.active_ns; });
  out["height_ns"] = column(threads, [](const ThreadParallelism& t) { return t.height_ns; });
  out["active_while_running"] = column(threads, [](const ThreadParallelism& t) { return t.active_while_running; });
  out["other_kind_running_ns"] = column(threads, [](const ThreadParallelism& t) { return t.other_kind_running_ns; });
  out["other_kind_active_ns"] = column(threads, [](const ThreadParallelism& t) { return t.other_kind_active_ns; });
  return out;
}

nb::object cpu_gap_columns(const CpuGaps& gaps) {
  if (!gaps.is_known()) return nb::none();
  nb::dict out;
  out["cpu"] = column(gaps.rows(), [](const CpuGap& g) { return g.cpu; });
  out["start_ns"] = column(gaps.rows(), [](const CpuGap& g) { return g.start_ns; });
  out["dur_ns"] = column(gaps.rows(), [](const CpuGap& g) { return g.dur_ns; });
  out["other_ns"] = column(gaps.rows(), [](const CpuGap& g) { return g.other_ns; });
  return out;
}

nb::dict thread_columns(const Decoder& decoder) {
  const auto& accounts = decoder.machine().accounts();
  std::vector<ThreadParallelism> sweeps = decoder.sweep().threads();
  sweeps.resize(accounts.size());
  nb::dict out = sweep_columns(sweeps);
  out["running_ns"] = column(accounts, [](const ThreadAccount& a) { return a.running_ns; });
  out["runnable_ns"] = column(accounts, [](const ThreadAccount& a) { return a.runnable_ns; });
  out["blocked_ns"] = column(accounts, [](const ThreadAccount& a) { return a.blocked_ns; });
  out["exec_ns"] = column(accounts, [](const ThreadAccount& a) { return a.has_exec ? a.exec_ns : int64_t{-1}; });
  out["exec_before_exit_ns"] = column(accounts, [](const ThreadAccount& a) { return a.exec_before_exit_ns; });
  out["off_ns"] = column(accounts, [](const ThreadAccount& a) { return a.last_ns; });
  out["switches"] = column(accounts, [](const ThreadAccount& a) { return a.switches; });
  out["total_stolen_ns"] = column(accounts, [](const ThreadAccount& a) { return a.total_stolen_ns; });
  out["total_wait_ns"] = column(accounts, [](const ThreadAccount& a) { return a.total_wait_ns; });
  return out;
}

nb::dict result(const Decoder& decoder) {
  const ThreadStateCounts& counts = decoder.machine().counts();
  nb::dict out;
  out["is_perf"] = decoder.is_perf();
  out["threads"] = thread_columns(decoder);
  out["activity"] = activity_columns(decoder.sweep().rows());
  out["bin_ns"] = decoder.sweep().bin_ns();
  out["cpu_gap"] = cpu_gap_columns(decoder.cpu_gaps());
  out["switches"] = counts.switches;
  out["records"] = counts.records;
  out["resyncs"] = counts.resyncs;
  out["unreported"] = counts.unreported;
  out["unseen_ns"] = counts.unseen_ns;
  out["overlaps"] = counts.overlaps;
  out["unknown_wakers"] = counts.unknown_wakers;
  out["open_blocks"] = counts.open_blocks;
  out["gaps"] = counts.gaps;
  out["ignored"] = counts.ignored;
  out["guesses"] = decoder.guesses();
  out["late"] = decoder.late();
  out["unmatched"] = decoder.lifecycle().unmatched;
  nb::list losses, strays;
  for (const LossSpan& l : decoder.losses()) {
    losses.append(nb::make_tuple(l.source, l.cpu, l.first_ns, l.last_ns, l.events));
  }
  for (const Stray& s : decoder.machine().strays()) strays.append(nb::make_tuple(s.tid, s.first_ns));
  out["losses"] = losses;
  out["strays"] = strays;
  out["problems"] = decoder.problems();
  return out;
}

// When threads of the VM collect garbage: thread_id, begin, end.
using Collecting = std::optional<std::tuple<Input<int32_t>, Input<int64_t>, Input<int64_t>>>;

// Spans in which threads count as garbage collection (kind 1).
std::vector<KindSpan> collecting_spans(const Collecting& collecting) {
  if (!collecting) return {};
  const auto& [thread, start_ns, end_ns] = *collecting;
  const size_t rows = thread.shape(0);
  if (start_ns.shape(0) != rows || end_ns.shape(0) != rows) throw nb::value_error("columns of different length");
  std::vector<KindSpan> spans;
  spans.reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    if (thread.data()[i] < 0) throw nb::value_error("a negative thread_id");
    spans.push_back({start_ns.data()[i], end_ns.data()[i], static_cast<uint32_t>(thread.data()[i]), 1});
  }
  return spans;
}

nb::dict sweep(Input<int32_t> thread_id, Input<int64_t> start_ns, Input<int64_t> runnable_ns, Input<int64_t> running_ns,
               Input<int64_t> stolen_ns, Input<uint8_t> kinds, int64_t from_ns, int64_t to_ns, int64_t bin_ns,
               const Collecting& collecting) {
  const size_t rows = thread_id.shape(0);
  if (start_ns.shape(0) != rows || runnable_ns.shape(0) != rows || running_ns.shape(0) != rows ||
      stolen_ns.shape(0) != rows) {
    throw nb::value_error("columns of different length");
  }
  for (size_t i = 0; i < rows; ++i) {
    if (thread_id.data()[i] < 0) throw nb::value_error("a negative thread_id");
  }
  std::vector<uint8_t> kind(kinds.data(), kinds.data() + kinds.shape(0));
  const std::vector<KindSpan> spans = collecting_spans(collecting);
  std::vector<ActivityRow> rows_out;
  const SliceView view{
      rows, thread_id.data(), start_ns.data(), runnable_ns.data(), running_ns.data(), stolen_ns.data()};
  const std::vector<ThreadParallelism> threads = [&] {
    nb::gil_scoped_release unlocked;
    return integrate_slices(view, kind, from_ns, to_ns, bin_ns, &rows_out, spans).threads();
  }();
  nb::dict out;
  out["activity"] = activity_columns(rows_out);
  out["threads"] = sweep_columns(threads);
  return out;
}

void begin(Decoder& decoder, int64_t start_ns, int64_t end_ns, Input<uint8_t> kinds, int64_t bin_ns, int64_t tick_ns,
           size_t max_rows, const Collecting& collecting) {
  decoder.begin(start_ns, end_ns, {kinds.data(), kinds.data() + kinds.shape(0)}, bin_ns, tick_ns, max_rows,
                collecting_spans(collecting));
}

}  // namespace

void bind_decode(nb::module_& m) {
  bind_locks(m);
  nb::class_<Decoder>(m, "Decoder", "Turns a spool directory into the columns of the store.")
      .def(nb::init<std::string, uint64_t, size_t>(), nb::arg("spool_dir"), nb::arg("room_bytes") = UINT64_MAX,
           nb::arg("most_threads") = kMostLives,
           "Read lifecycle.spool and agent-*.spool; what agents wrote takes room_bytes of memory at most, and of more "
           "than "
           "most_threads threads the first are read.")
      .def("lifecycle", &lifecycle, "Columns of every thread whose birth or snapshot is on record, by thread_id.")
      .def("agents", &agents, "What each in-JVM agent wrote.")
      .def("locks", &Decoder::locks, nb::rv_policy::reference_internal, "What the agents wrote about locks.")
      .def("has_sched", &Decoder::has_sched, "Whether there are scheduling records.")
      .def("last_record_ns", &Decoder::last_record_ns, nb::call_guard<nb::gil_scoped_release>(),
           "Time of the last record; reads the whole spool.")
      .def("begin", &begin, nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("kinds"), nb::arg("bin_ns"),
           nb::arg("tick_ns"), nb::arg("max_activity_rows") = size_t{1} << 17, nb::arg("collecting") = nb::none(),
           "Start the pass over the scheduling records. `collecting`: thread_id, begin and end of the spans in which a "
           "thread"
           " of the VM collects garbage, and counts as gc.")
      .def(
          "counted",
          [](const Decoder& decoder) { return std::tuple(decoder.counted().counters, decoder.counted().groups); },
          "How many counters slices have counts of, and in how many groups they are.")
      .def("next", &slices_or_none, nb::arg("rows") = size_t{1} << 18,
           "About `rows` more slices as they are stored (store/packing.py), or None at the end.")
      .def("result", &result, "Totals, activity, losses and counts, once next() gave None.");
  m.def("integrate_parallelism", &sweep, nb::arg("thread_id"), nb::arg("start_ns"), nb::arg("runnable_ns"),
        nb::arg("running_ns"), nb::arg("stolen_ns"), nb::arg("kinds"), nb::arg("from_ns"), nb::arg("to_ns"),
        nb::arg("bin_ns"), nb::arg("collecting") = nb::none(),
        "ParallelismIntegrator over slices in order of their end, clipped to a window; kinds[thread_id] 255 leaves a "
        "thread out; "
        "`collecting`"
        " as in Decoder.begin.");
}

}  // namespace headway
