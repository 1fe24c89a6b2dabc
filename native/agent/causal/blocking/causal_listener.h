// What the hooks call while a causal recording goes on.
#pragma once

#include "agent/hooks/listeners.h"

namespace headway::agent::causal {

const CausalListener& causal_listener() noexcept;

}  // namespace headway::agent::causal
