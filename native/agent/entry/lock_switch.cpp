#include "agent/entry/lock_switch.h"

#include "agent/hooks/jdk_hooks.h"
#include "agent/hooks/monitors.h"
#include "agent/jvm/stacks.h"
#include "agent/jvm/this_jni.h"
#include "agent/waits/blockers.h"
#include "agent/waits/monitor_waits.h"

namespace headway::agent {

LockSwitch& lock_switch() noexcept {
  static LockSwitch* const instance = new LockSwitch;
  return *instance;
}

void silence_locks() noexcept {
  if (!lock_switch().active.exchange(false)) return;
  if (JNIEnv* jni = this_jni()) {
    switch_hooks(jni, false);
    report_all_holds(jni);
    if (!lock_switch().dying.load()) forget_holds(jni);
  }
  set_monitor_events(false);
  if (JNIEnv* jni = this_jni(); jni != nullptr && !lock_switch().dying.load()) forget_monitor_waits(jni);
  end_lock_records();
  end_stacks();
}

}  // namespace headway::agent
