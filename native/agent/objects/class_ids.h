// Numbers of the classes whose objects are allocated: by name, so that a class that is loaded again has the same one.
//
// Class unloading. Classes are known again by weak references, which keep none alive; the identity hash of the class
// leads to them.
#pragma once

#include <jni.h>

#include <cstdint>
#include <string_view>

namespace headway::agent {

struct ClassId {
  uint32_t id = 0;  // 0: there are too many, or the JVM does not tell the name
  bool is_array = false;
};

// Any thread; writes a HW_JAVA_CLASS record for a name that is new.
ClassId class_id_of(JNIEnv* jni, jclass type) noexcept;
// The same by an internal name, "com/acme/Order". 0: there are too many.
uint32_t class_id_of_name(std::string_view internal_name) noexcept;
// The same of any text, which no class has.
uint32_t id_of_text(std::string_view text) noexcept;
// Lets go of all references; nobody uses them meanwhile.
void forget_classes(JNIEnv* jni) noexcept;

}  // namespace headway::agent
