// The JVMTI events that the agent listens to while it records.
#pragma once

namespace headway::agent {

bool enable_events(bool live) noexcept;  // `live`: the JVM runs already
void vm_unloads() noexcept;

}  // namespace headway::agent
