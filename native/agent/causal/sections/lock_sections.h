// Where code holds locks, found in the code itself: from a monitorenter to its monitorexit, in a synchronized method,
// from lock() to unlock() in the same method. A sample's stack then tells whether its thread holds a lock, without
// anything inserted into the program that could fail or get out of step.
//
// What is held at an instruction is what is held on every way to it. Not seen: a lock that one method takes and another
// releases, and a tryLock() whose result is not looked at at once.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/causal/common/options.h"

namespace headway::agent::causal {

// Bytecode indices from `from` up to, not including, `to`.
struct HeldStretch {
  int32_t from;
  int32_t to;
  bool operator==(const HeldStretch&) const = default;
};

struct LockSection {
  std::string type;   // the lock's class as the code knows it, "java/lang/Object"; empty: not known
  int32_t line = -1;  // where it is taken; -1: the class has no line numbers
  std::vector<HeldStretch> held{};
};

struct LockingMethod {
  std::string name;
  std::string descriptor;
  std::vector<LockSection> sections{};
};

// Methods without any are left out; so is code that can't be read.
std::vector<LockingMethod> lock_sections(std::span<const uint8_t> class_file) noexcept;

// Whether `asked` means the section: by where it is (CLASS, CLASS.METHOD, CLASS:LINE where the lock is taken) or by the
// class of the lock. A class of java.util.concurrent.locks means locks that the code knows as an interface of that
// package, too. `class_name`: "com.acme.Store$1".
bool means_section(const Place& asked, std::string_view class_name, const LockingMethod& method,
                   const LockSection& section) noexcept;
// Whether `asked` can mean all sections of that class, or of a method there.
bool may_mean_sections_of(const Place& asked, std::string_view class_name) noexcept;

}  // namespace headway::agent::causal
