// Decodes a spool directory and checks what must hold whatever is in it: used by the random test and the fuzzer.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "decode/decoder.h"
#include "decode/parallelism/reverse_parallelism.h"
#include "decode/tests/locks_all.h"
#include "testing/check.h"

namespace headway {

// What agents say of objects: names are those that there are, and of nothing is a part more than the whole.
inline void check_objects(const AgentFile& file) {
  const size_t names = file.allocations.texts.texts().size();
  for (const AllocationRow& row : file.allocations.rows) {
    CHECK(row.class_name < names && row.site_class < names && row.site_method < names);
  }
  for (const AccessRow& row : file.accesses.rows) {
    CHECK(row.class_name < names && row.java_id != 0);
    for (size_t kind = 0; kind < HW_OWNED_KINDS; ++kind) {
      CHECK(row.allocator.local[kind] + row.allocator.shared[kind] <= row.counts[kind]);
      CHECK(row.last_writer.local[kind] + row.last_writer.shared[kind] <= row.counts[kind]);
    }
  }
  for (const AccessWindowRow& row : file.accesses.windows) CHECK(row.group < 32 && row.java_id != 0);
  for (const LineWritesRow& row : file.lines.writes) CHECK(row.place_name < names && row.java_id != 0);
  for (const LineShareRow& row : file.lines.shares) {
    CHECK(row.place_name < names && row.other_place_name < names && row.kind < HW_LINE_KINDS);
  }
  for (const NodeRow& row : file.nodes.rows) CHECK(row.class_name < names && row.samples <= row.accesses);
}

inline void decode_all(const std::string& directory, int64_t start_ns, int64_t end_ns, uint8_t kind_of_first = 0) {
  Decoder decoder(directory);
  decoder.last_record_ns();
  std::vector<uint8_t> kinds(decoder.lifecycle().lives.size(), 0);
  if (!kinds.empty()) kinds[0] = kind_of_first;
  begin_locks(&decoder, start_ns, end_ns);
  decoder.begin(start_ns, end_ns, kinds, 1 + (end_ns - start_ns) / 5, 1, 64);
  int64_t running = 0, runnable = 0, last_end = INT64_MIN;
  SliceBatch slices;
  for (bool more = true; more;) {
    more = decoder.next(7, &slices);
    CHECK_EQUAL(slices.counts.size(), size_t{decoder.counted().counters} + decoder.counted().groups);
    for (const auto& column : slices.counts) CHECK_EQUAL(column.size(), slices.size());
    for (size_t i = 0; i < slices.size(); ++i) {
      CHECK(slices.end_ticks[i] >= last_end);
      last_end = slices.end_ticks[i];
      CHECK(slices.running_ticks[i] >= 0 && slices.runnable_ticks[i] >= 0 && slices.blocked_ticks[i] >= 0);
      CHECK(slices.stolen_ticks[i] >= 0 && slices.stolen_ticks[i] <= slices.running_ticks[i]);
      for (const auto& column : slices.counts) CHECK(column[i] >= SliceCounts::kUnknown);
      running += slices.running_ticks[i];
      runnable += slices.runnable_ticks[i];
    }
  }
  for (const AgentFile& file : decoder.agents()) check_objects(file);
  check_locks(&decoder.locks(), decoder.machine().accounts().size(), start_ns, end_ns);
  for (size_t i = 0; i < decoder.machine().accounts().size(); ++i) {
    const ThreadAccount& account = decoder.machine().accounts()[i];
    const int64_t active = i < decoder.sweep().threads().size() ? decoder.sweep().threads()[i].active_ns : 0;
    const bool is_counted = i != 0 || kind_of_first != kNotCounted;
    if (is_counted) CHECK_EQUAL(active, account.running_ns + account.runnable_ns);
  }
  int64_t wall = 0, running_levels = 0, active_levels = 0;
  for (const ActivityRow& row : decoder.sweep().rows()) {
    wall += row.dur_ns;
    for (int kind = 0; kind < kKinds; ++kind) {
      running_levels += row.levels.running[kind] * row.dur_ns;
      active_levels += row.levels.active[kind] * row.dur_ns;
    }
  }
  CHECK(wall == end_ns - start_ns);
  CHECK(running_levels == running);
  CHECK(active_levels == running + runnable);
  CHECK(decoder.machine().counts().gaps == 0);
  for (const CpuGap& gap : decoder.cpu_gaps().rows()) {
    CHECK(gap.cpu >= 0 && gap.start_ns >= start_ns && gap.dur_ns <= end_ns - gap.start_ns);
    CHECK(gap.other_ns > 0 && gap.other_ns <= gap.dur_ns);
  }
}

}  // namespace headway
