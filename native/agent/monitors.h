// Contended monitors and Object.wait, as JVMTI tells them (see locks.h for set_monitor_events).
#pragma once

#include <jvmti.h>

namespace headway::agent {

// JVMTI keeps one table of callbacks per agent: enters ours, whether or not they will be wanted.
void add_monitor_callbacks(jvmtiEventCallbacks& callbacks) noexcept;

}  // namespace headway::agent
