// Progress points, armed and read: how often the program has come by each, and the latencies between two of them.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/causal/points/visits.h"

namespace headway::agent::causal {

bool arm_points(JNIEnv* jni) noexcept;                                            // those of the options
void instrument_class(JNIEnv* jni, jclass type, std::string_view name) noexcept;  // JVMTI's ClassPrepare
uint32_t point_count() noexcept;
std::vector<LatencyPair> latency_pairs() noexcept;
Visits visits(uint32_t point) noexcept;  // exact: all threads' counters summed. clock_ns wraps: subtract as uint64_t
// About each second, on the experiments' thread: notes on points that nothing fits, the candidates of --suggest.
void poll_points(JNIEnv* jni) noexcept;
// Gives the classes their own bytes back; live phase, outside callbacks. Counts stay readable.
void disarm_points(JNIEnv* jni) noexcept;

}  // namespace headway::agent::causal
