// What a core can be lost to: a cause, the object it is about, and the thread that others wait for (or that is alone).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lost_cores/causes.h"

namespace headway {

struct LossRow {
  int32_t key = -1;     // of a lock, a queue, a barrier ... as the waits number them; -1: none
  int32_t thread = -1;  // -1: none
  Cause cause = Cause::kUnknown;

  bool operator==(const LossRow&) const = default;
};

// Gives each different row a number, in order of first use.
class LossRows {
 public:
  LossRows();
  uint32_t number(const LossRow& row);
  const LossRow& operator[](uint32_t number) const { return rows_[number]; }
  size_t size() const { return rows_.size(); }

 private:
  void grow();

  std::vector<LossRow> rows_;
  std::vector<uint32_t> index_;  // open addressing: number + 1
};

}  // namespace headway
