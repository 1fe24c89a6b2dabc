// When carriers mount and unmount virtual threads, as the JVM tells agents that ask for it.
#pragma once

namespace headway::agent {

// Turns the JVM's events of mounts on or off; a JVM without them (before JDK 21) has none. Needs can_support_virtual_threads.
// `is_still_wanted`: as in set_recording_events.
void set_mount_events(bool on, bool (*is_still_wanted)() noexcept) noexcept;

}  // namespace headway::agent
