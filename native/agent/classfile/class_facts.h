// What a class file says of its methods: for choosing those that are meant, and for naming what is near to a name that
// nothing fits. Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headway::agent {

struct MethodFacts {
  std::string_view name;
  std::string_view descriptor;
  uint16_t access = 0;
  uint32_t code_bytes = 0;        // 0: no code
  std::vector<uint16_t> lines{};  // sorted, each once; empty: compiled without line numbers
  bool has_loop = false;          // a jump backwards
  bool locks = false;             // synchronized, or has a monitorexit
  std::string_view forwards{};    // begins by loading this class's only instance (Scala's object, Kotlin's companion)
};
struct ClassFacts {
  bool ok = false;  // false: malformed
  std::string_view name;
  std::string_view source_file;
  std::string_view source_map;  // as in source_map.h; empty: none
  std::vector<std::string_view> interfaces;
  std::vector<MethodFacts> methods;
};
// Views into `class_file`.
ClassFacts class_facts(std::span<const uint8_t> class_file) noexcept;
// Whether some method `locks`: all that is to be known of most classes, in a small part of the time.
bool releases_locks(std::span<const uint8_t> class_file) noexcept;

}  // namespace headway::agent
