// Progress points and critical sections in classes that are loaded already: which of them are concerned, and how they
// get their calls.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/jvm/loaded_classes.h"
#include "agent/state/state.h"

namespace headway::agent::causal {

// Whether the class, as it is, needs calls of ours.
bool wants_loaded(jclass type, std::string_view name);
void retransform(std::vector<jclass>& types);

template <typename Wants>
void retransform_loaded(JNIEnv* jni, Wants wants) {
  std::vector<jclass> types;
  for_each_loaded(jni, [&](jclass type, const std::string& name) {
    jboolean modifiable = JNI_FALSE;
    if (!wants(type, name)) return;
    if (agent().jvmti->IsModifiableClass(type, &modifiable) != JVMTI_ERROR_NONE || modifiable == JNI_FALSE) return;
    types.push_back(static_cast<jclass>(jni->NewGlobalRef(type)));
  });
  retransform(types);
  for (jclass type : types) jni->DeleteGlobalRef(type);
}

// Sections of classes that were loaded before, or have been retransformed since.
void resolve_loaded_sections(JNIEnv* jni);
// Object.wait and the like, which are there before anything is recorded.
void note_loaded_waits(JNIEnv* jni);

}  // namespace headway::agent::causal
