// Reads a JFR file from front to back, chunk by chunk: a chunk's types and constants first, then its events into
// tables.
//
// Memory: a window of the file, the constants of one chunk, rows that wait to be taken (kMostValues), and what all
// chunks have in common (names, frames, fingerprints of stacks). What is damaged ends in a problem, never in a crash;
// what was read before it stays, and the next chunk is looked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "jfr/event_tables.h"
#include "jfr/file_window.h"
#include "jfr/interning.h"

namespace headway::jfr {

// What times become: nanoseconds since 1970 as `jfr print` says (by each chunk whose types are new), the same with the
// first chunk's reading of the wall clock for all, or the file's own ticks, where these are nanoseconds.
enum class Times : uint8_t { wall, one_clock, ticks };

struct ChunkInfo {
  uint64_t offset = 0, size = 0;
  int major = 0, minor = 0;
  int64_t start_ns = 0, dur_ns = 0, start_ticks = 0, ticks_per_second = 0;
  int64_t base_ns = 0;  // the time of start_ticks in this reader's times
  uint64_t events = 0;
  bool is_cut = false;  // the file ends before it does, or it was never finished
};

struct Problem {
  uint64_t offset = 0;
  std::string text;
};

// One JFR file, read once.
class Reader {
 public:
  // `most_chunks`: it ends after so many; 0: all.
  Reader(const std::string& path, std::unordered_set<std::string> wanted, Times times, size_t most_chunks = 0);

  // Empty, or why this is no file to read; `newer` is its major version when that is why.
  const std::string& refused() const { return refused_; }
  int newer() const { return newer_; }
  // A table that has rows, or nullptr at the end. The rows are gone with the next call.
  EventTable* next();
  const std::vector<ChunkInfo>& chunks() const { return chunks_; }
  // The first of them, and how many there are.
  const std::vector<Problem>& problems() const { return problems_; }
  uint64_t problem_count() const { return problem_count_; }
  InternedRows& interned() { return interned_; }
  uint64_t position() const { return position_; }
  uint64_t size() const { return file_.size(); }

 private:
  struct Chunk;
  bool open_chunk();
  bool parse_header(uint64_t offset, ChunkInfo* info, uint64_t* constants, uint64_t* metadata, bool* compressed);
  bool load(uint64_t constants, uint64_t metadata);
  bool load_metadata(uint64_t offset);
  bool load_constants(uint64_t first);
  bool add_checkpoint(uint64_t offset, uint64_t end, int64_t* previous);
  void scan(uint64_t* metadata, std::vector<uint64_t>* checkpoints);
  bool event_at(uint64_t offset, uint64_t* bytes, int64_t* type);
  void read_events();
  void close_chunk(uint64_t next);
  bool find_magic(uint64_t from, uint64_t* at);
  Clock clock_for(const ChunkInfo& info, int64_t metadata);
  void problem(uint64_t offset, std::string text);

  FileWindow file_;
  Times times_;
  size_t most_chunks_;
  EventTables tables_;
  InternedRows interned_;
  std::string refused_;
  int newer_ = 0;
  Clock clock_;  // of the last chunk
  std::optional<int64_t> metadata_;
  LayoutBudget layout_budget_;
  std::vector<ChunkInfo> chunks_;
  std::vector<Problem> problems_;
  uint64_t problem_count_ = 0;
  bool is_text_cut_ = false, are_threads_left_out_ = false;
  uint64_t position_ = 0;   // the next event, or the next chunk
  size_t most_values_ = 0;  // rows x columns, and frames, that may wait for now
  EventTable* handed_out_ = nullptr;
  struct ChunkDeleter {
    void operator()(Chunk* chunk) const;
  };
  std::unique_ptr<Chunk, ChunkDeleter> chunk_;
};

}  // namespace headway::jfr
