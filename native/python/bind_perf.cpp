// The perf collector for Python. record/collect/capture.py is the only user.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "perf/perf_collector.h"
#include "perf/probe.h"

namespace nb = nanobind;

namespace headway {
namespace {

nb::dict as_dict(const PerfStats& stats) {
  nb::dict d;
  d["switches"] = stats.switches;
  d["lifecycle"] = stats.lifecycle;
  d["lost"] = stats.lost;
  d["unwritten"] = stats.unwritten;
  d["bytes"] = stats.bytes;
  d["drains"] = stats.drains;
  d["consumer_cpu_ns"] = stats.consumer_cpu_ns;
  d["threads_opened"] = stats.threads_opened;
  d["totals_read"] = stats.totals_read;
  d["ring_bytes"] = stats.ring_bytes;
  d["disk_error"] = stats.disk_error;
  d["disk_error_ns"] = stats.disk_error_ns;
  d["written_until_ns"] = stats.written_until_ns;
  return d;
}

nb::dict as_dict(const ProbeResult& result) {
  nb::dict d;
  d["errno"] = result.reason;
  d["step"] = result.step;
  d["ring_bytes"] = result.ring_bytes;
  return d;
}

}  // namespace

void bind_perf(nb::module_& m) {
  nb::class_<PerfCollector>(m, "PerfCollector",
                            "Records the switches of a process tree as an ordinary user, into spool files.")
      .def(nb::init<std::string, size_t, int>(), nb::arg("spool_dir"), nb::arg("ring_bytes") = 0,
           nb::arg("drain_ms") = 40)
      .def("add_process", &PerfCollector::add_process, nb::arg("pid"), nb::call_guard<nb::gil_scoped_release>(),
           "Record this process and what it forks from now on. Raises CollectorError.")
      .def("snapshot_process", &PerfCollector::snapshot_process, nb::arg("pid"),
           nb::call_guard<nb::gil_scoped_release>(),
           "The same for a process that runs already, and all its descendants.")
      .def("start", &PerfCollector::start)
      .def("stats", [](const PerfCollector& self) { return as_dict(self.stats()); })
      .def("stop", [](PerfCollector& self) {
        PerfStats stats;
        {
          const nb::gil_scoped_release release;
          stats = self.stop();
        }
        return as_dict(stats);
      });
  m.def(
      "probe_bpf", [] { return as_dict(probe_bpf()); }, "Load and attach a trivial BPF program: {errno, step}.");
  m.def(
      "probe_perf", [] { return as_dict(probe_perf()); },
      "Open headway's perf events on this thread: {errno, step, ring_bytes}.");
  m.def(
      "probe_hardware_counter", [] { return as_dict(probe_hardware_counter()); },
      "Open a hardware cycle counter on this thread: {errno, step}.");
}

}  // namespace headway
