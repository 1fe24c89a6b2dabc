// The critical sections that are made faster (--target lock:...), as signal handlers look them up: by method and
// bytecode index. lock_sections.h finds them in class files.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace headway::agent::causal {

// Instead of a method's id (target_method()): frames in sections are meant.
constexpr uint32_t kSectionsTarget = UINT32_MAX;

// A recording begins; those of an earlier one are none any more.
void clear_sections() noexcept;
// Whether the class may have some. `internal_name`: "com/acme/Store".
bool may_have_sections(std::string_view internal_name) noexcept;
// Its bytes as the JVM is given them, with our calls. No JNI: it is being loaded, or retransformed.
void note_sections(std::string_view internal_name, std::span<const uint8_t> class_file) noexcept;
// The class is there now: its methods have ids. Live phase.
void resolve_sections(jclass type, std::string_view internal_name) noexcept;
// Whether some class has sections that its methods' ids are not known of.
bool has_unresolved_sections() noexcept;
bool is_unresolved(std::string_view internal_name) noexcept;
bool knows_sections() noexcept;
// Says so by problem() when none is found for some seconds, or until the end (`at_once`). On the experiments' thread.
void poll_sections(bool at_once) noexcept;
// A class is there that may have methods which give a lock back while they wait: Object, and Java's own conditions.
// Live phase.
void note_waits(jclass type, std::string_view internal_name) noexcept;
// [signal]
bool is_in_section(jmethodID method, jint bci) noexcept;
// [signal] Object.wait or Condition.await: who calls it in a section is not in it meanwhile. Which lock is given back
// is not known; so it is taken to be the one that was asked for.
bool gives_lock_back(jmethodID method) noexcept;

}  // namespace headway::agent::causal
