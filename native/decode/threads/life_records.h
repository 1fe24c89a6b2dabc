// The records of lifecycle.spool in order of time, within bounds: a program that starts, renames or replaces its threads without
// end takes no more memory for it than its threads are worth.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "decode/threads/left_out_threads.h"
#include "wire/records.h"

namespace headway {

// Any record of that file.
union LifeRecord {
  hw_record head;
  hw_fork fork;
  hw_exit exit;
  hw_rename rename;
  hw_exec exec;
  hw_snapshot snapshot;
  hw_schedstat schedstat;
  hw_loss loss;
};

struct LifeRecords {
  std::vector<LifeRecord> in_order;  // of ts_ns
  LeftOutThreads left_out;
  std::string problem;  // why the file, or its rest, could not be read
};

// Reads the file. Of each thread the last name, the first and the last exec, and the first and the last totals are kept; of more
// than `most_lives` threads those that began first, a share for the descendants of each process that was there at the beginning.
LifeRecords read_life_records(const std::string& path, size_t most_lives);

}  // namespace headway
