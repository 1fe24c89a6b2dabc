// Which class the JVM initialises for an instruction (Java Virtual Machine Specification, chapter 5.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "agent/classfile/class_file.h"

namespace headway::agent {

// Whether a thread that is at `at` of a method's code may be entering a synchronized block: HotSpot's interpreter is
// past the instruction by then, its compiled code at it.
bool may_enter_monitor(std::span<const uint8_t> code, size_t at) noexcept;

// The class that the instruction at `at` of a method's code is about to use, as in class files ("com/acme/Foo"); empty:
// it is none that has a class initialised. What is initialised is that class or one that it extends or implements.
std::string_view class_in_use(const ClassFile& constants, std::span<const uint8_t> code, size_t at) noexcept;

}  // namespace headway::agent
