// The module headway._native: calls the function of each part of headway that is bound to Python.
#include "bindings.h"

NB_MODULE(_native, m) {
  m.doc() = "headway's native parts: collectors and decoder";
#ifdef HEADWAY_WITH_counters
  headway::bind_counters(m);
#endif
#ifdef HEADWAY_WITH_kernel
  headway::bind_kernel(m);
#endif
#ifdef HEADWAY_WITH_perf
  headway::bind_perf(m);
#endif
#ifdef HEADWAY_WITH_jfr
  headway::bind_jfr(m);
#endif
#ifdef HEADWAY_WITH_parquet
  headway::bind_parquet(m);
#endif
#ifdef HEADWAY_WITH_lost_cores
  headway::bind_lost_cores(m);
  headway::bind_critical_path(m);
  headway::bind_replay(m);
  headway::bind_replay_timeline(m);
#endif
#ifdef HEADWAY_WITH_decode
  headway::bind_decode(m);
#endif
}
