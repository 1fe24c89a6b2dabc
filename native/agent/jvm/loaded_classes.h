// The classes that the JVM has loaded.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <string>
#include <string_view>

#include "agent/state/state.h"

namespace headway::agent {

inline constexpr jint kVisitRefs = 64;  // local references that a visit may have at a time

// Calls visit(type, internal name) for each class that could be changed, and frees what JVMTI gave.
template <typename Visit>
void for_each_loaded(JNIEnv* jni, Visit visit) {
  jvmtiEnv* jvmti = agent().jvmti;
  jint count = 0;
  jclass* types = nullptr;
  if (jvmti->GetLoadedClasses(&count, &types) != JVMTI_ERROR_NONE) return;
  jni->EnsureLocalCapacity(count + kVisitRefs);  // else -Xcheck:jni prints of so many references
  for (jint i = 0; i < count; ++i) {
    char* signature = nullptr;
    if (jvmti->GetClassSignature(types[i], &signature, nullptr) == JVMTI_ERROR_NONE) {
      const std::string_view text(signature);
      // Hidden classes (lambdas) have a dot, and can't be changed.
      const bool is_class = text.size() > 2 && text.front() == 'L' && text.find('.') == std::string_view::npos;
      if (is_class) visit(types[i], std::string(text.substr(1, text.size() - 2)));
      jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
    }
    jni->DeleteLocalRef(types[i]);
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(types));
}

}  // namespace headway::agent
