// Text as the JVM gives it (modified UTF-8) made into UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace headway::agent {

// Writes `text` (modified UTF-8: NUL as C0 80, characters past U+FFFF as two surrogates of three bytes each) as UTF-8
// into `out`, at most `capacity` bytes and never half a character. A lone surrogate or malformed byte becomes U+FFFD.
// Returns the bytes written. Allocates nothing.
size_t to_utf8(std::string_view text, char* out, size_t capacity) noexcept;

}  // namespace headway::agent
