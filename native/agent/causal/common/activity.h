// Whether a causal recording goes on: what every hook, event and sample asks first.
#pragma once

#include <atomic>

namespace headway::agent::causal {

// Between begin_causal and the end of the recording. Set by the experiments alone.
inline constinit std::atomic<bool> causal_is_on{false};
inline bool is_on() noexcept { return causal_is_on.load(std::memory_order_relaxed); }  // [signal]

}  // namespace headway::agent::causal
