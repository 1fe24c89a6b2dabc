// The recorded waits of each thread, as pieces in order of time that are read backwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lost_cores/loss_rows.h"

namespace headway {

struct WaitColumns {
  size_t rows = 0;
  const int32_t* thread = nullptr;
  const int64_t* start_ns = nullptr;
  const int64_t* end_ns = nullptr;
  const uint8_t* cause = nullptr;
  const int32_t* key = nullptr;
  const int32_t* target = nullptr;
  const uint8_t* is_directed = nullptr;
};

struct WaitPiece {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t row;  // of LossRows
  bool is_directed;
};

// The waits of all threads, by thread.
class WaitPieces {
 public:
  // Rows of negative threads and of unknown causes are left out. Where two pieces of a thread overlap, the one that
  // begins later has the time from there on.
  WaitPieces(const WaitColumns& columns, LossRows* rows);

  size_t threads() const { return first_.empty() ? 0 : first_.size() - 1; }
  uint32_t first(uint32_t thread) const { return thread < threads() ? first_[thread] : 0; }
  uint32_t last(uint32_t thread) const { return thread < threads() ? first_[thread + 1] : 0; }
  const WaitPiece& operator[](uint32_t piece) const { return pieces_[piece]; }
  int32_t highest_target() const { return highest_target_; }

 private:
  void put_in_order(uint32_t first, uint32_t last);

  std::vector<uint32_t> first_;
  std::vector<WaitPiece> pieces_;
  int32_t highest_target_ = -1;
};

}  // namespace headway
