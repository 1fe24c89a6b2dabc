#include "lost_cores/wait_pieces.h"

#include <algorithm>

namespace headway {
namespace {

bool is_kept(const WaitColumns& columns, size_t row) {
  return columns.thread[row] >= 0 && columns.cause[row] < kCauses && columns.end_ns[row] > columns.start_ns[row];
}

}  // namespace

WaitPieces::WaitPieces(const WaitColumns& columns, LossRows* rows) {
  int32_t highest = -1;
  for (size_t i = 0; i < columns.rows; ++i) {
    if (is_kept(columns, i)) highest = std::max(highest, columns.thread[i]);
  }
  first_.assign(static_cast<size_t>(highest) + 2, 0);
  for (size_t i = 0; i < columns.rows; ++i) {
    if (is_kept(columns, i)) ++first_[static_cast<size_t>(columns.thread[i]) + 1];
  }
  for (size_t thread = 1; thread < first_.size(); ++thread) first_[thread] += first_[thread - 1];
  pieces_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (size_t i = 0; i < columns.rows; ++i) {
    if (!is_kept(columns, i)) continue;
    const LossRow row{std::max(columns.key[i], -1), std::max(columns.target[i], -1),
                      static_cast<Cause>(columns.cause[i])};
    highest_target_ = std::max(highest_target_, row.thread);
    pieces_[next[static_cast<size_t>(columns.thread[i])]++] = {columns.start_ns[i], columns.end_ns[i],
                                                               rows->number(row), columns.is_directed[i] != 0};
  }
  for (uint32_t thread = 0; thread < threads(); ++thread) put_in_order(first_[thread], first_[thread + 1]);
}

void WaitPieces::put_in_order(uint32_t first, uint32_t last) {
  const auto earlier = [](const WaitPiece& a, const WaitPiece& b) { return a.start_ns < b.start_ns; };
  const auto begin = pieces_.begin() + first, end = pieces_.begin() + last;
  if (!std::is_sorted(begin, end, earlier)) std::stable_sort(begin, end, earlier);
  for (uint32_t i = first; i + 1 < last; ++i) {
    pieces_[i].end_ns = std::min(pieces_[i].end_ns, pieces_[i + 1].start_ns);
  }
}

}  // namespace headway
