// Bounds the text that is made of a file's constants: two bytes of a file can name a text of a megabyte, any number of
// times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway::jfr {

// The text that may be copied out of the constants of one file, all chunks together. A file of programs names most of
// its texts a few times, so that it takes a small part of this.
class TextBudget {
 public:
  static constexpr size_t kLongest = 1 << 20;  // of one text
  static constexpr std::string_view kCut = "...";

  void set_file_size(uint64_t bytes) { left_ = fields_left_ = kFree + kPerByte * bytes; }
  // Whether so many more fields of constants may be passed over for texts: one constant may have tens of thousands, and
  // be a part of any number of texts.
  bool may_read(size_t fields) {
    if (fields > fields_left_) is_exceeded_ = true;
    fields_left_ -= std::min<uint64_t>(fields, fields_left_);
    return fields_left_ > 0;
  }
  // A copy of the text; what is longer than a text may be ends in "...", and is nothing else once all of it is spent.
  std::string copy(std::string_view text) {
    if (text.size() > kLongest) {
      is_exceeded_ = true;
      return copy(text.substr(0, kLongest - kCut.size())).append(kCut);
    }
    if (text.size() > left_) {
      is_exceeded_ = true;
      return std::string(kCut);
    }
    left_ -= text.size();
    return std::string(text);
  }
  // The beginning of a text that is too long to be kept.
  std::string cut(std::string_view text, size_t most) {
    is_exceeded_ = true;
    return std::string(text.substr(0, most - kCut.size())).append(kCut);
  }
  // Some text is not whole.
  bool is_exceeded() const { return is_exceeded_; }

 private:
  static constexpr uint64_t kFree = 64 << 20, kPerByte = 16;
  uint64_t left_ = kFree, fields_left_ = kFree;
  bool is_exceeded_ = false;
};

}  // namespace headway::jfr
