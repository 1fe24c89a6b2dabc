// Which classes are the program's own, as `--scope` and `--object-scope` say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headway::agent {

// `*` stands for anything, also for dots. Names with dots: "com.acme.Server$Handler".
bool glob_matches(std::string_view pattern, std::string_view name) noexcept;

// `globs` empty: everything but the JDK's, Kotlin's and Scala's own classes, and headway's agent.
bool in_scope(const std::vector<std::string>& globs, std::string_view class_name) noexcept;

}  // namespace headway::agent
