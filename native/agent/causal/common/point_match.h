// Which classes and methods a progress point means, and what is near to a name that nothing fits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/causal/common/options.h"
#include "agent/classfile/class_facts.h"

namespace headway::agent::causal {

constexpr size_t kMostNear = 8;

// "com/acme/Outer$Inner" as "com.acme.Outer$Inner".
std::string dotted(std::string_view internal_name);

// Whether `asked` ("com.acme.Outer.Inner") means the class `name` ("com.acme.Outer$Inner").
bool means_class(std::string_view asked, std::string_view name) noexcept;

// A point on a method may be in the class, in Scala's object or Kotlin's companion of that name; one on a line in any
// class nested in it (lambdas of old compilers, anonymous classes); and a source file may be named instead of a class
// ("Main.kt", "com/acme/Main.kt").
bool may_be_in(const Place& place, std::string_view class_name) noexcept;
bool names_source_file(const Place& place) noexcept;
bool is_source_of(const Place& place, std::string_view class_name, std::string_view source_file) noexcept;

// Whether a method's descriptor "(ILjava/lang/String;)V" is what was asked for: "" (any), the same or its beginning, or
// its parameters as in Java, classes with or without their packages: "(int, String)".
bool means_descriptor(std::string_view asked, std::string_view descriptor) noexcept;
// "int,java.lang.String".
std::string java_parameters(std::string_view descriptor);

struct Choice {
  std::vector<const MethodFacts*> methods;  // with code; no bridges, no forwarders
  bool is_ambiguous = false;                // overloads, and none was asked for
};
Choice choose_methods(const ClassFacts& facts, const Place& place);
// The numbers under which a class has the line that a point is on: the line's own, if the class is the one that is
// meant, and those of code that Kotlin inlined from there, in whatever class.
std::vector<uint16_t> numbers_of_line(const ClassFacts& facts, std::string_view class_name, const Place& place);
bool has_line_numbers(const ClassFacts& facts) noexcept;

// Of `names` those that are most like `wanted`, best first, kMostNear at most.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names);
// The lines with code that are nearest.
std::vector<int32_t> nearest_lines(const ClassFacts& facts, int32_t line);

// A method that might be a unit of work: one that could be a progress point (--suggest).
bool looks_like_work(const ClassFacts& facts, const MethodFacts& method) noexcept;

}  // namespace headway::agent::causal
