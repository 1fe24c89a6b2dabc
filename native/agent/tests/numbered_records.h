// Records that tests of the agent's files write: who wrote each, and its number among those of that writer.
#pragma once

#include <cstdint>

#include "agent/core/chunk_file.h"
#include "wire/records.h"

struct NumberedRecord {
  hw_record head;
  uint64_t number;
};

// Writes one record; returns whether records are still wanted.
inline bool write(headway::agent::ChunkFile& file, headway::agent::ThreadSlot& slot, uint64_t number) {
  auto* record = static_cast<NumberedRecord*>(file.begin(slot, sizeof(NumberedRecord)));
  if (record == nullptr) return false;
  *record = {{0, HW_THREAD_END, sizeof(NumberedRecord), slot.tid}, number};
  file.commit(slot, sizeof(NumberedRecord));
  return true;
}
