// The numbers of active threads again, from slices of the store, for a part of the time or of the threads. Slices are
// stored in order of their end, so backwards in time each one is met where it begins to count, and only the slices open
// at that moment are held in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/parallelism/parallelism_integrator.h"

namespace headway {

struct SliceView {  // columns of the table `slice`, all of `rows` values
  size_t rows = 0;
  const int32_t* thread_id = nullptr;
  const int64_t* start_ns = nullptr;
  const int64_t* runnable_ns = nullptr;  // unknown: 0
  const int64_t* running_ns = nullptr;
  const int64_t* stolen_ns = nullptr;  // unknown: 0
};

// kinds[thread_id] and spans as in ParallelismIntegrator. Rows are clipped to [start_ns, end_ns); bins are counted from
// start_ns. The rows of the result are in order of time. Throws std::invalid_argument when the slices are not in order
// of start_ns + running_ns.
ParallelismIntegrator integrate_slices(const SliceView& slices, const std::vector<uint8_t>& kinds, int64_t start_ns,
                                       int64_t end_ns, int64_t bin_ns, std::vector<ActivityRow>* activity,
                                       std::vector<KindSpan> spans = {});

}  // namespace headway
