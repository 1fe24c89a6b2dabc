// Calls put into classes of the program as they are loaded or retransformed: visits of progress points, and payments
// before a lock is released.
#pragma once

#include <string_view>

#include "agent/hooks/listeners.h"

namespace headway::agent::causal {

// JVMTI's ClassFileLoadHook is on for points, and stays so: classes get their calls while they are loaded.
const ClassFileListener& class_file_listener() noexcept;
// Whether anything of ours would go into the class; `source_file` empty: not known.
bool concerns_class(std::string_view internal_name, std::string_view source_file) noexcept;
// Not to be touched: what jdk_hooks.cpp retransforms, and what hit() itself calls.
bool is_off_limits(std::string_view internal_name) noexcept;

}  // namespace headway::agent::causal
