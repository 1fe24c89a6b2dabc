// What the hook class tells of parks, for hooks.cpp (causal.h has the rest of blocking.cpp).
#pragma once

#include <jni.h>

namespace headway::agent::causal {

// The calling OS thread parks. `alias`: the id of the virtual thread that does so without leaving its carrier, or 0.
// False: it has no account, park_ends is not to be called.
bool park_begins(jint alias, bool is_timed) noexcept;
void park_ends(jint alias, bool is_timed) noexcept;

}  // namespace headway::agent::causal
