// A raw monitor of the JVM, held while in scope.
#pragma once

#include "agent/agent.h"

namespace headway::agent {

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
