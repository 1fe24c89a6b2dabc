// JVMTI's events that the agent turns on and off by the recording.
#pragma once

namespace headway::agent {

// JDK 21's events, by number: the header we are compiled with may be older.
inline constexpr int kVirtualThreadStart = 87;
inline constexpr int kVirtualThreadEnd = 88;

void set_event(int event, bool on) noexcept;
// Threads, collections and the JVM's death: what is told for as long as a recording lasts. `is_still_wanted`: what to ask at each
// mount, so that the events end with the recording even where no thread starts or ends; unused to turn them off.
void set_recording_events(bool on, bool (*is_still_wanted)() noexcept) noexcept;

}  // namespace headway::agent
