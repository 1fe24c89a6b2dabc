// Contended monitors and Object.wait, from JVMTI's events to the listeners (listeners.h).
#pragma once

#include <jvmti.h>

#include "agent/hooks/hook_use.h"

namespace headway::agent {

// JVMTI keeps one table of callbacks per agent: enters ours, whether or not they will be wanted.
void add_monitor_callbacks(jvmtiEventCallbacks& callbacks) noexcept;
// Turns the events and the capability that they need on or off for one of the users.
void set_monitor_events(bool on, HookUse use = HookUse::kLocks) noexcept;

}  // namespace headway::agent
