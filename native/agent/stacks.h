// Java stacks as numbers: see locks.h for take_stack, start_stacks and end_stacks.
#pragma once

#include <cstdint>

namespace headway::agent {

// How many stacks found no number any more, and how often none could be taken, since start_stacks.
struct StackLosses {
  uint64_t unnumbered;
  uint64_t failed;
};
StackLosses stack_losses() noexcept;

}  // namespace headway::agent
