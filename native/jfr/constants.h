// The constants of a chunk: where each lies in the bytes of its checkpoints. Their values are read when an event needs
// them: most never are, and a constant may name itself by way of others.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "jfr/layout.h"
#include "jfr/seeded_hash.h"

namespace headway::jfr {

struct Constant {
  static constexpr int32_t kUnknown = -1, kNone = -2;
  uint64_t index = 0;
  const uint8_t* at = nullptr;   // nullptr: an empty slot
  const uint8_t* end = nullptr;  // of the bytes it lies in
  // Of the stack, thread, method or text that it stands for, once that is known; kNone: it stands for none.
  int32_t meaning = kUnknown;
  int32_t text = kUnknown;  // the same of its text
};

// Open addressing over the indices, which are dense in some files and addresses in others.
class Pool {
 public:
  Constant* find(uint64_t index) {
    if (slots_.empty()) return nullptr;
    for (size_t at = slot(index);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].at == nullptr) return nullptr;
      if (slots_[at].index == index) return &slots_[at];
    }
  }
  void put(uint64_t index, const uint8_t* at, const uint8_t* end);

 private:
  size_t slot(uint64_t index) const { return static_cast<size_t>(seeded_hash(index)) & (slots_.size() - 1); }
  void grow();
  std::vector<Constant> slots_;
  size_t used_ = 0;
};

// Where the constants of the present chunk are.
class Constants {
 public:
  Constants(Layouts* layouts, bool compressed) : layouts_(layouts), compressed_(compressed) {}
  // Takes the bytes of a whole checkpoint event. `previous` becomes the distance to the one before, 0 for none.
  // False, with a `problem`: it is damaged; what came before the damage is kept.
  bool add(std::vector<uint8_t>&& event, int64_t* previous, std::string* problem);
  Constant* find(int64_t type, uint64_t index);
  // nullptr: there are no constants of that type. It stays where it is.
  Pool* pool(int64_t type);
  Cursor cursor(const Constant& constant) const { return {constant.at, constant.end, compressed_}; }
  Layouts& layouts() { return *layouts_; }

 private:
  Layouts* layouts_;
  bool compressed_;
  std::deque<std::vector<uint8_t>> events_;
  std::unordered_map<int64_t, Pool> pools_;
  size_t count_ = 0;
};

}  // namespace headway::jfr
