// The eBPF collector for Python. record/collect/capture.py is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "kernel/kernel_collector.h"
#include "spool/collector_error.h"

namespace nb = nanobind;

namespace headway {
namespace {

nb::dict as_dict(const KernelStats& stats) {
  nb::dict d;
  d["switches"] = stats.switches;
  d["wakings"] = stats.wakings;
  d["lifecycle"] = stats.lifecycle;
  d["lost"] = stats.lost;
  d["missed"] = stats.missed;
  d["bytes"] = stats.bytes;
  d["unwritten_bytes"] = stats.unwritten_bytes;
  d["disk_error"] = stats.disk_error;
  d["disk_error_ns"] = stats.disk_error_ns;
  d["written_until_ns"] = stats.written_until_ns;
  d["consumer_cpu_ns"] = stats.consumer_cpu_ns;
  d["early_wakes"] = stats.early_wakes;
  d["ring_bytes"] = stats.ring_bytes;
  d["ring_peak_bytes"] = stats.ring_peak_bytes;
  d["typed_programs"] = stats.typed_programs;
  d["irq_context_known"] = stats.irq_context_known;
  if (!stats.counter_totals.empty()) {
    nb::list totals;
    for (const CounterGroupTotals& each : stats.counter_totals) {
      totals.append(nb::make_tuple(each.cpu, each.group, each.enabled_ns, each.running_ns));
    }
    d["counter_totals"] = totals;
    d["counts_flushed"] = stats.counts_flushed;
  }
  return d;
}

template <typename Call>
nb::dict without_gil(Call call) {
  KernelStats stats;
  {
    const nb::gil_scoped_release release;
    stats = call();
  }
  return as_dict(stats);
}

PyObject* collector_error = nullptr;  // lives as long as the module

// CollectorError reaches Python with its step, errno and detail as attributes.
void bind_collector_error(nb::module_& m) {
  collector_error = PyErr_NewExceptionWithDoc(
      "headway._native.CollectorError",
      "A collector cannot work here. Attributes: step (what was tried), errno (why), detail (free text).",
      PyExc_Exception, nullptr);
  m.attr("CollectorError") = nb::borrow(collector_error);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const CollectorError& error) {
      nb::object value = nb::borrow(collector_error)(error.what());
      value.attr("step") = error.step();
      value.attr("errno") = error.reason();
      value.attr("detail") = error.detail();
      PyErr_SetObject(collector_error, value.ptr());
    }
  });
}

}  // namespace

void bind_kernel(nb::module_& m) {
  bind_collector_error(m);
  nb::class_<KernelCollector>(m, "KernelCollector",
                              "Records the scheduling of processes by eBPF into spool files. See kernel_collector.h.")
      .def(nb::init<std::string, size_t, bool, std::vector<CounterGroup>>(), nb::arg("spool_dir"),
           nb::arg("ring_bytes") = 0, nb::arg("force_raw") = false, nb::arg("counters") = std::vector<CounterGroup>{},
           "Load the programs. `counters`: groups of CounterEvent that each switch is to read. Raises CollectorError.")
      .def("add_process", &KernelCollector::add_process, nb::arg("pid"), nb::call_guard<nb::gil_scoped_release>(),
           "Record this process and what it forks from now on. Raises CollectorError.")
      .def("snapshot_process", &KernelCollector::snapshot_process, nb::arg("pid"),
           nb::call_guard<nb::gil_scoped_release>(),
           "For a process that runs already: record it and all its descendants. Raises CollectorError.")
      .def("start", &KernelCollector::start, nb::call_guard<nb::gil_scoped_release>(),
           "Create the spool files and attach. Raises CollectorError.")
      .def("stats", [](const KernelCollector& self) { return without_gil([&] { return self.stats(); }); })
      .def(
          "stop", [](KernelCollector& self) { return without_gil([&] { return self.stop(); }); },
          "Detach, drain, close; returns the final figures.");
}

}  // namespace headway
