// Kotlin's source maps (JSR 45, the attribute SourceDebugExtension). The code of an inline function stands in the class
// of its caller, under numbers past the end of that class's file; the map says where it was written (stratum "Kotlin")
// and at which line it was called (stratum "KotlinDebug"). Maps of other languages are not looked at: their files are
// no classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace headway::agent {

struct SourceOrigin {
  std::string_view class_name;  // "demo/ToolsKt"
  std::string_view file;        // "Tools.kt"
  int32_t line = 0;
};

// One class's source map, parsed: from a line number in the class to the file and line it was written at.
class SourceMap {
 public:
  // Empty where there is none of Kotlin's or it can't be read. Views into `text`.
  explicit SourceMap(std::string_view text);

  bool empty() const noexcept { return written_.empty(); }
  // Where the code under a number was written; none: under that very number in the class's own file.
  std::optional<SourceOrigin> origin(int32_t number) const noexcept;
  // The line of the class's own file that calls what was inlined under a number; 0: not known.
  int32_t call_site(int32_t number) const noexcept;

 private:
  struct File {
    int32_t id;
    std::string_view name;
    std::string_view class_name;
  };
  // Numbers first, first + 1 ... belong to lines line, line + 1 ..., `each` numbers to a line.
  struct Range {
    int32_t line;
    int32_t file;
    int32_t lines;
    int32_t first;
    int32_t each;
  };
  static std::optional<Range> read_range(std::string_view text, int32_t file);
  static const Range* find(const std::vector<Range>& ranges, int32_t number) noexcept;

  std::vector<File> files_;
  std::vector<Range> written_;
  std::vector<Range> called_;
};

}  // namespace headway::agent
