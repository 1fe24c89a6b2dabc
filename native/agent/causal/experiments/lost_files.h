// Opens again what the program has closed of the agent's: daemons close all descriptors that they know nothing of,
// before they begin.
#pragma once

namespace headway::agent::causal {

// Each second, on the experiments' thread.
void poll_files() noexcept;

}  // namespace headway::agent::causal
