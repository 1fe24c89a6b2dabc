#include "lost_cores/loss_rows.h"

namespace headway {
namespace {

size_t hash(const LossRow& row) {
  uint64_t h = (static_cast<uint64_t>(static_cast<uint32_t>(row.key)) << 32) | static_cast<uint32_t>(row.thread);
  h ^= static_cast<uint64_t>(row.cause) << 27;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ULL;
  return static_cast<size_t>(h ^ (h >> 33));
}

}  // namespace

LossRows::LossRows() : index_(256) {}

uint32_t LossRows::number(const LossRow& row) {
  if ((rows_.size() + 1) * 2 > index_.size()) grow();
  size_t slot = hash(row) & (index_.size() - 1);
  while (index_[slot] != 0) {
    if (rows_[index_[slot] - 1] == row) return index_[slot] - 1;
    slot = (slot + 1) & (index_.size() - 1);
  }
  rows_.push_back(row);
  index_[slot] = static_cast<uint32_t>(rows_.size());
  return index_[slot] - 1;
}

void LossRows::grow() {
  index_.assign(index_.size() * 2, 0U);
  for (size_t i = 0; i < rows_.size(); ++i) {
    size_t slot = hash(rows_[i]) & (index_.size() - 1);
    while (index_[slot] != 0) slot = (slot + 1) & (index_.size() - 1);
    index_[slot] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace headway
