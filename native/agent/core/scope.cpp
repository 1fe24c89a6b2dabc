#include "agent/core/scope.h"

#include <algorithm>
#include <array>

namespace headway::agent {
namespace {

constexpr std::array<std::string_view, 8> kNotThePrograms{"java.",    "javax.",  "jdk.",   "sun.",
                                                          "com.sun.", "kotlin.", "scala.", "headway.api."};

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view name) noexcept {
  size_t at = 0;
  size_t in_name = 0;
  size_t star = std::string_view::npos;  // the last one, which may take one more character
  size_t taken = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = in_name;
    } else if (at < pattern.size() && pattern[at] == name[in_name]) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++taken;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool in_scope(const std::vector<std::string>& globs, std::string_view class_name) noexcept {
  const auto begins = [class_name](std::string_view prefix) { return class_name.starts_with(prefix); };
  if (globs.empty()) return std::ranges::none_of(kNotThePrograms, begins);
  return std::ranges::any_of(globs, [class_name](const std::string& glob) { return glob_matches(glob, class_name); });
}

}  // namespace headway::agent
