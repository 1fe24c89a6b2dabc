// Performance events for Python: groups that are opened on CPUs and on threads, and which events count here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "counters/cpu_counters.h"
#include "counters/known_loop.h"
#include "counters/thread_counters.h"

namespace nb = nanobind;

namespace headway {
namespace {

nb::dict as_dict(const TriedEvent& tried) {
  nb::dict d;
  d["errno"] = tried.reason;
  d["first"] = tried.first;
  d["second"] = tried.second;
  d["enabled_ns"] = tried.enabled_ns;
  d["running_ns"] = tried.running_ns;
  return d;
}

nb::list tried_groups(const std::vector<CounterGroup>& groups) {
  std::vector<std::vector<TriedEvent>> tried;
  {
    const nb::gil_scoped_release release;
    tried = try_groups(groups);
  }
  nb::list all;
  for (const auto& group : tried) {
    nb::list events;
    for (const TriedEvent& each : group) events.append(as_dict(each));
    all.append(events);
  }
  return all;
}

// (value, enabled_ns, running_ns) of each event, or None.
nb::object read_thread(const ThreadCounters& counters, pid_t tid) {
  std::vector<EventTotals> totals;
  if (!counters.read(tid, &totals)) return nb::none();
  nb::list found;
  for (const EventTotals& each : totals) found.append(nb::make_tuple(each.value, each.enabled_ns, each.running_ns));
  return found;
}

// Of every counter on every CPU: (cpu, counter, value, enabled_ns, running_ns). One that can't be read any more is left out.
nb::list read_cpus(const CpuCounters& counters) {
  nb::list found;
  for (uint32_t counter = 0; counter < counters.counters(); ++counter) {
    for (size_t i = 0; i < counters.cpus().size(); ++i) {
      EventTotals totals;
      if (!counters.totals(counter, i, &totals)) continue;
      found.append(nb::make_tuple(counters.cpus()[i], counter, totals.value, totals.enabled_ns, totals.running_ns));
    }
  }
  return found;
}

}  // namespace

void bind_counters(nb::module_& m) {
  nb::class_<CounterEvent>(m, "CounterEvent", "A performance event, as perf_event_open is asked for it.")
      .def(
          "__init__",
          [](CounterEvent* self, std::string name, uint32_t type, uint64_t config, uint64_t config1, uint64_t config2,
             uint32_t bp_type, bool user_only, bool kernel_only, uint32_t exercise) {
            new (self) CounterEvent{std::move(name), type,      config,      config1, config2,
                                    bp_type,         user_only, kernel_only, exercise};
          },
          nb::arg("name"), nb::arg("type"), nb::arg("config"), nb::arg("config1"), nb::arg("config2"),
          nb::arg("bp_type"), nb::arg("user_only"), nb::arg("kernel_only"), nb::arg("exercise"));
  m.def(
      "try_counters", &tried_groups, nb::arg("groups"),
      "Count each group on this thread over a known loop, twice: [[{errno, first, second, enabled_ns, running_ns}]].");
  nb::class_<ThreadCounters>(m, "ThreadCounters", "Groups of events of single threads; see counters/thread_counters.h.")
      .def(nb::init<std::vector<CounterGroup>>(), nb::arg("groups"))
      .def("add", &ThreadCounters::add, nb::arg("tid"), "Count a thread from now on; 0, or errno.")
      .def("remove", &ThreadCounters::remove, nb::arg("tid"))
      .def("read", &read_thread, nb::arg("tid"), "[(value, enabled_ns, running_ns)] since it was added, or None.");
  nb::class_<CpuCounters>(m, "CpuCounters", "Groups of events of whole CPUs, whatever runs there.")
      .def(nb::init<std::vector<CounterGroup>, std::vector<int>>(), nb::arg("groups"), nb::arg("cpus"),
           "Open and start them. Raises CollectorError.")
      .def("read", &read_cpus,
           "[(cpu, counter, value, enabled_ns, running_ns)]; what can't be read any more is left out.");
}

}  // namespace headway
