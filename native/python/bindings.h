// One function per part of headway that Python sees; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace headway {
void bind_counters(nanobind::module_& m);
void bind_kernel(nanobind::module_& m);
void bind_perf(nanobind::module_& m);
void bind_decode(nanobind::module_& m);
void bind_jfr(nanobind::module_& m);
void bind_parquet(nanobind::module_& m);
void bind_lost_cores(nanobind::module_& m);
void bind_critical_path(nanobind::module_& m);
void bind_replay(nanobind::module_& m);
void bind_replay_timeline(nanobind::module_& m);
void bind_locks(nanobind::module_& m);  // called by bind_decode
}  // namespace headway
