#include "agent/entry/event_modes.h"

#include "agent/entry/mounts.h"
#include "agent/state/state.h"

namespace headway::agent {

void set_event(int event, bool on) noexcept {
  agent().jvmti->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, static_cast<jvmtiEvent>(event), nullptr);
}

void set_recording_events(bool on, bool (*is_still_wanted)() noexcept) noexcept {
  for (const int event : {JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END, JVMTI_EVENT_GARBAGE_COLLECTION_START,
                          JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, JVMTI_EVENT_VM_DEATH}) {
    set_event(event, on);
  }
  if (agent().options.vthreads) {
    set_event(kVirtualThreadStart, on);
    set_event(kVirtualThreadEnd, on);
    set_mount_events(on, is_still_wanted);
  }
}

}  // namespace headway::agent
