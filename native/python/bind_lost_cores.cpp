// The account of lost cores for Python. analyses/lost_cores/account/attribution.py is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "lost_cores/loss_account.h"
#include "replay/replay.h"

namespace nb = nanobind;

namespace headway {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 61;
constexpr int64_t kMostBins = 1 << 20;
constexpr size_t kMostReplayed = size_t{1} << 28;

template <typename T>
Input<T> input(const nb::dict& columns, const char* name) {
  return nb::cast<Input<T>>(columns[name]);
}

size_t rows_of(std::initializer_list<size_t> lengths) {
  for (const size_t length : lengths) {
    if (length != *lengths.begin()) throw nb::value_error("columns of different length");
  }
  return *lengths.begin();
}

WaitColumns waits_of(const nb::dict& columns) {
  const auto thread = input<int32_t>(columns, "thread");
  const auto start = input<int64_t>(columns, "start_ns"), end = input<int64_t>(columns, "end_ns");
  const auto cause = input<uint8_t>(columns, "cause"), directed = input<uint8_t>(columns, "is_directed");
  const auto key = input<int32_t>(columns, "key"), target = input<int32_t>(columns, "target");
  const size_t rows = rows_of({thread.shape(0), start.shape(0), end.shape(0), cause.shape(0), directed.shape(0),
                               key.shape(0), target.shape(0)});
  return {rows, thread.data(), start.data(), end.data(), cause.data(), key.data(), target.data(), directed.data()};
}

SpanColumns spans_of(const nb::dict& columns) {
  const auto start = input<int64_t>(columns, "start_ns"), end = input<int64_t>(columns, "end_ns");
  const auto code = input<uint8_t>(columns, "code");
  const auto weight = input<double>(columns, "weight");
  const size_t rows = rows_of({start.shape(0), end.shape(0), code.shape(0), weight.shape(0)});
  return {rows, start.data(), end.data(), code.data(), weight.data()};
}

OtherColumns others_of(const nb::dict& columns) {
  const auto start = input<int64_t>(columns, "start_ns"), end = input<int64_t>(columns, "end_ns");
  const auto other = input<int64_t>(columns, "other_ns"), headway = input<int64_t>(columns, "headway_ns");
  const size_t rows = rows_of({start.shape(0), end.shape(0), other.shape(0), headway.shape(0)});
  return {rows, start.data(), end.data(), other.data(), headway.data()};
}

void check(const AccountOptions& options) {
  if (options.from_ns < -kMostNs || options.to_ns > kMostNs) throw nb::value_error("a window beyond all times");
  if (options.bin_ns <= 0 || (options.to_ns - options.from_ns) / options.bin_ns >= kMostBins) {
    throw nb::value_error("too many bins");
  }
}

// The columns that the account reads while it goes on are kept here; all others it copies.
class BoundLossAccount {
 public:
  BoundLossAccount(AccountOptions options, AccountThreads threads, const nb::dict& waits, const nb::dict& spans,
                   const nb::dict& others, const Input<int64_t>& probe_ns, const Input<int32_t>& probe_thread)
      : probe_ns_(vector_of(probe_ns)),
        probe_thread_(vector_of(probe_thread)),
        account_(std::move(options), std::move(threads), waits_of(waits), spans_of(spans), others_of(others),
                 {rows_of({probe_ns_.size(), probe_thread_.size()}), probe_ns_.data(), probe_thread_.data()}) {}
  LossAccount& account() { return account_; }

 private:
  std::vector<int64_t> probe_ns_;
  std::vector<int32_t> probe_thread_;
  LossAccount account_;
};

void make(BoundLossAccount* self, int64_t from_ns, int64_t to_ns, double cores, int64_t bin_ns,
          std::vector<int64_t> cuts, Input<uint8_t> kinds, Input<uint8_t> is_background, Input<int64_t> exit_ns,
          nb::dict waits, nb::dict spans, nb::dict others, Input<int64_t> probe_ns, Input<int32_t> probe_thread,
          bool shares_cores, double most_idle) {
  AccountOptions options{from_ns, to_ns, cores, bin_ns, std::move(cuts), shares_cores, most_idle};
  check(options);
  new (self) BoundLossAccount(std::move(options), {vector_of(kinds), vector_of(is_background), vector_of(exit_ns)},
                              waits, spans, others, probe_ns, probe_thread);
}

bool batch(BoundLossAccount& self, int64_t tick_ns, const Input<int64_t>& end, const Input<int64_t>& running,
           const Input<int64_t>& runnable, const Input<int64_t>& blocked, const Input<int64_t>& stolen,
           const Input<int32_t>& thread, const Input<int32_t>& waker, const Input<uint8_t>& flags,
           const nb::object& blocked_in) {
  SliceColumns columns;
  columns.rows = rows_of({end.shape(0), running.shape(0), runnable.shape(0), blocked.shape(0), stolen.shape(0),
                          thread.shape(0), waker.shape(0), flags.shape(0)});
  columns.tick_ns = tick_ns;
  columns.end_ticks = end.data();
  columns.running_ticks = running.data();
  columns.runnable_ticks = runnable.data();
  columns.blocked_ticks = blocked.data();
  columns.stolen_ticks = stolen.data();
  columns.thread_id = thread.data();
  columns.waker_id = waker.data();
  columns.flags = flags.data();
  if (!blocked_in.is_none()) {
    const auto values = nb::cast<Input<uint8_t>>(blocked_in);
    rows_of({columns.rows, values.shape(0)});
    columns.blocked_in = values.data();
  }
  nb::gil_scoped_release unlocked;
  return self.account().batch(columns);
}

nb::dict sums_of(const LossSums& sums) {
  nb::dict out;
  out["used"] = array(std::vector<double>(sums.used, sums.used + kUsedKinds));
  out["lost"] = array(std::vector<double>(sums.lost, sums.lost + kCauses));
  out["stolen"] = sums.stolen;
  out["other"] = sums.other;
  return out;
}

nb::dict segment_of(const Segment& segment, const LossRows& names) {
  nb::dict out = sums_of(segment.sums);
  out["start_ns"] = segment.start_ns;
  out["end_ns"] = segment.end_ns;
  out["excess_ns"] = segment.excess_ns;
  out["error_ns"] = segment.error_ns;
  out["outside_ns"] = segment.outside_ns;
  out["cause"] = column(segment.row, [&](uint32_t row) { return static_cast<uint8_t>(names[row].cause); });
  out["key"] = column(segment.row, [&](uint32_t row) { return names[row].key; });
  out["thread"] = column(segment.row, [&](uint32_t row) { return names[row].thread; });
  out["core_ns"] = array(std::vector<double>(segment.core_ns));
  return out;
}

nb::dict finish(BoundLossAccount& self) {
  LossAccount& account = self.account();
  {
    nb::gil_scoped_release unlocked;
    account.finish();
  }
  nb::list segments;
  const auto& found = account.segments();
  for (auto segment = found.rbegin(); segment != found.rend(); ++segment) {
    segments.append(segment_of(*segment, account.rows()));
  }
  nb::dict out, bins;
  std::vector<double> values;
  for (const LossSums& sums : account.bins()) {
    values.insert(values.end(), sums.used, sums.used + kUsedKinds);
    values.push_back(sums.stolen);
    values.push_back(sums.other);
    values.insert(values.end(), sums.lost, sums.lost + kCauses);
  }
  out["segments"] = segments;
  out["bins"] = array(std::move(values));
  out["directed"] = column(account.probes(), [](const ProbeResult& p) { return p.directed; });
  out["undirected"] = column(account.probes(), [](const ProbeResult& p) { return p.undirected; });
  out["out_of_order"] = account.out_of_order();
  return out;
}

nb::object replay(const Input<uint8_t>& what, const Input<int32_t>& thread, const Input<int32_t>& other,
                  const Input<int64_t>& length_ns, const Input<int32_t>& group, size_t threads, size_t groups,
                  const std::vector<size_t>& last) {
  if (groups != 0 && threads > kMostReplayed / groups) throw nb::value_error("too many threads for so many groups");
  const ReplayColumns events{
      rows_of({what.shape(0), thread.shape(0), other.shape(0), length_ns.shape(0), group.shape(0)}),
      what.data(),
      thread.data(),
      other.data(),
      length_ns.data(),
      group.data()};
  std::vector<int64_t> ahead;
  {
    nb::gil_scoped_release unlocked;
    ahead = replayed(events, threads, groups, last);
  }
  return array(std::move(ahead));
}

}  // namespace

void bind_lost_cores(nb::module_& m) {
  nb::class_<BoundLossAccount>(m, "LossAccount",
                               "Gives each core that nothing ran on to a cause: see lost_cores/loss_account.h.")
      .def("__init__", &make, nb::kw_only(), nb::arg("from_ns"), nb::arg("to_ns"), nb::arg("cores"), nb::arg("bin_ns"),
           nb::arg("cuts"), nb::arg("kinds"), nb::arg("is_background"), nb::arg("exit_ns"), nb::arg("waits"),
           nb::arg("spans"), nb::arg("others"), nb::arg("probe_ns"), nb::arg("probe_thread"),
           nb::arg("shares_cores") = false, nb::arg("most_idle") = std::numeric_limits<double>::infinity())
      .def("batch", &batch, nb::kw_only(), nb::arg("tick_ns"), nb::arg("end_ticks"), nb::arg("running_ticks"),
           nb::arg("runnable_ticks"), nb::arg("blocked_ticks"), nb::arg("stolen_ticks"), nb::arg("thread_id"),
           nb::arg("waker_id"), nb::arg("flags"), nb::arg("blocked_in") = nb::none(),
           "Slices, the last batch of the table first. False: the rest of the table does not matter.")
      .def("finish", &finish, "Segments in order of time, bins (28 values each: used, stolen, other, lost), probes.");
  m.def("replayed", &replay, nb::kw_only(), nb::arg("what"), nb::arg("thread"), nb::arg("other"), nb::arg("length_ns"),
        nb::arg("group"), nb::arg("threads"), nb::arg("groups"), nb::arg("last"),
        "How far each of the last threads is ahead at the end without the waits of each group: see replay/replay.h.");
}

}  // namespace headway
