// Texts that come again and again (names of classes, methods, threads), each kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headway {

// Gives each different text a number, in order of first use.
class TextPool {
 public:
  TextPool() { add({}); }  // 0 is the empty text
  uint32_t add(std::string_view text) {
    const auto found = by_text_.find(text);
    if (found != by_text_.end()) return found->second;
    const auto id = static_cast<uint32_t>(texts_.size());
    by_text_.emplace(texts_.emplace_back(text), id);
    return id;
  }
  const std::string& operator[](uint32_t id) const { return texts_[id]; }
  const std::deque<std::string>& texts() const { return texts_; }

 private:
  std::deque<std::string> texts_;  // a deque: what the keys below point at must not move
  std::unordered_map<std::string_view, uint32_t> by_text_;
};

}  // namespace headway
