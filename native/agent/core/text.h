// Text as the JVM gives it (modified UTF-8) made into UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace headway::agent {

// Writes `text` (modified UTF-8: NUL as C0 80, characters past U+FFFF as two surrogates of three bytes each) as UTF-8
// into `out`, at most `capacity` bytes and never half a character. A lone surrogate or malformed byte becomes U+FFFD.
// Returns the bytes written. Allocates nothing.
size_t to_utf8(std::string_view text, char* out, size_t capacity) noexcept;

// "Lcom/example/Main$$Lambda$14.0x00007f01;" as "com.example.Main$$Lambda": a hidden class has its address behind a dot
// in its signature, and a lambda's up to JDK 20 a running number as well. Cut off, so that the same lambda is the same
// class when its class is loaded again, and in the next run.
size_t class_name(std::string_view signature, char* out, size_t capacity) noexcept;

// The name of any type as people write it: a class as class_name has it, "[[I" as "int[][]".
size_t type_name(std::string_view signature, char* out, size_t capacity) noexcept;

}  // namespace headway::agent
