// What the hooks call while locks are recorded: parks, wakings and holds from the hook class, monitors from JVMTI.
#pragma once

#include "agent/hooks/listeners.h"

namespace headway::agent {

const LockListener& lock_listener() noexcept;

}  // namespace headway::agent
