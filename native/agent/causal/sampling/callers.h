// Counts the methods on the stacks of samples, for --suggest: a unit of work is on most of them, near the outermost frame.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "agent/causal/sampling/stack_frame.h"

namespace headway::agent::causal {

void clear_callers() noexcept;
// [signal] A whole stack, innermost frame first. `seen`: room for as many methods as there are frames.
void count_callers(std::span<const StackFrame> frames, std::span<uint32_t> seen) noexcept;
// "samples":12,"methods":[["com.acme.Server","handle",11,22], ...]: class, method, stacks that it is on (once each),
// sum of the frames in scope that are further out. Not of methods on less than one stack in two hundred.
std::string callers_fields() noexcept;

}  // namespace headway::agent::causal
