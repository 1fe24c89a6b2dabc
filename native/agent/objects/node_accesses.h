// Samples on which memory node the program's accesses go: natives of the hook class, which code of the program calls at one
// access in a thousand (docs/decisions/0021-access-nodes.md).
#pragma once

#include <jni.h>

#include <cstdint>
#include <string>
#include <vector>

#include "agent/objects/access_counters.h"

namespace headway::agent {

// From now on, with the rows and owners of these counters. Before the hook class is there.
void begin_nodes(AccessCounters& counters, OwnerRules rules) noexcept;
// Whether the hook class found that handles lead to objects.
bool nodes_work() noexcept;
std::vector<JNINativeMethod> node_natives();

// What is not known yet of the calling thread's accesses, which ends, is unknown.
void end_nodes_of_thread() noexcept;
// Writes the sums that have changed; returns how many bytes.
int64_t write_nodes() noexcept;
// No more accesses are sampled.
void silence_nodes() noexcept;
// What was not seen, as part of the facts of accesses.
std::string node_coverage();

}  // namespace headway::agent
