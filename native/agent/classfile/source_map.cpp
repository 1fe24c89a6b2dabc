#include "agent/classfile/source_map.h"

#include <algorithm>
#include <charconv>

namespace headway::agent {
namespace {

constexpr int32_t kMostLines = 1 << 24;  // numbers in class files have 16 bits, lines of sources may have more

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// A number in front; false: there is none, or a greater one than any line has.
bool take_number(std::string_view& text, int32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > kMostLines) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

// "line#file,lines:first,each", where file (that of the range before), lines (1) and each (1) may be left out.
std::optional<SourceMap::Range> SourceMap::read_range(std::string_view text, int32_t file) {
  Range range{0, file, 1, 0, 1};
  if (!take_number(text, range.line)) return std::nullopt;
  if (take(text, '#') && !take_number(text, range.file)) return std::nullopt;
  if (take(text, ',') && !take_number(text, range.lines)) return std::nullopt;
  if (!take(text, ':') || !take_number(text, range.first)) return std::nullopt;
  if (take(text, ',') && !take_number(text, range.each)) return std::nullopt;
  return text.empty() && range.each > 0 ? std::optional(range) : std::nullopt;
}

SourceMap::SourceMap(std::string_view text) {
  if (!text.starts_with("SMAP")) return;
  enum class Section { kNone, kFiles, kLines };
  Section section = Section::kNone;
  std::vector<Range>* ranges = nullptr;  // of the stratum; null: nobody's business
  int32_t file = 0;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.starts_with("*S ")) {
      ranges = line == "*S Kotlin" ? &written_ : line == "*S KotlinDebug" ? &called_ : nullptr;
      section = Section::kNone;
    } else if (line.starts_with('*')) {
      section = line == "*F" ? Section::kFiles : line == "*L" ? Section::kLines : Section::kNone;
    } else if (ranges != nullptr && section == Section::kLines) {
      const std::optional<Range> range = read_range(line, file);
      if (!range) continue;
      file = range->file;
      ranges->push_back(*range);
    } else if (ranges == &written_ && section == Section::kFiles && take(line, '+') && take(line, ' ')) {
      File found{};
      if (!take_number(line, found.id) || !take(line, ' ')) continue;
      found.name = line;
      found.class_name = take_line(text);
      files_.push_back(found);
    }
  }
}

const SourceMap::Range* SourceMap::find(const std::vector<Range>& ranges, int32_t number) noexcept {
  const auto found = std::ranges::find_if(ranges, [number](const Range& range) {
    return number >= range.first && (number - range.first) / range.each < range.lines;
  });
  return found == ranges.end() ? nullptr : &*found;
}

std::optional<SourceOrigin> SourceMap::origin(int32_t number) const noexcept {
  const Range* const range = find(written_, number);
  if (range == nullptr) return std::nullopt;
  const auto file = std::ranges::find(files_, range->file, &File::id);
  if (file == files_.end()) return std::nullopt;
  return SourceOrigin{file->class_name, file->name, range->line + (number - range->first) / range->each};
}

int32_t SourceMap::call_site(int32_t number) const noexcept {
  const Range* const range = find(called_, number);
  return range == nullptr ? 0 : range->line + (number - range->first) / range->each;
}

}  // namespace headway::agent
