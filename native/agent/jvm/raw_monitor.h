// A raw monitor of the JVM, entered for as long as an object of this class is in scope.
#pragma once

#include <jvmti.h>

#include "agent/state/state.h"

namespace headway::agent {

// Enters the monitor when made, leaves it when it goes out of scope.
class Locked {
 public:
  explicit Locked(jrawMonitorID monitor) : monitor_(monitor) { agent().jvmti->RawMonitorEnter(monitor_); }
  ~Locked() { agent().jvmti->RawMonitorExit(monitor_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  jrawMonitorID monitor_;
};

}  // namespace headway::agent
