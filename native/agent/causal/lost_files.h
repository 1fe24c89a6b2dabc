// Programs that close all descriptors that they know nothing of (daemons do, before they begin): what the agent lost by
// that it opens again.
#pragma once

namespace headway::agent::causal {

// Each second, on the experiments' thread.
void look_after_files() noexcept;

}  // namespace headway::agent::causal
