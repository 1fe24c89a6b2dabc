// A frame as AsyncGetCallTrace gives it.
#pragma once

#include <jni.h>
#include <jvmti.h>

namespace headway::agent::causal {

struct StackFrame {
  jint bci;
  jmethodID method;
};

constexpr int kCollecting = 2;  // AsyncGetCallTrace's code while garbage is collected

}  // namespace headway::agent::causal
