#include "jfr/reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace headway::jfr {
namespace {

constexpr size_t kHeaderBytes = 68;
constexpr std::array<uint8_t, 4> kMagic{'F', 'L', 'R', 0};
constexpr int kNewestMajor = 2;
constexpr size_t kMostValues = 4 << 20;             // rows x columns that wait to be taken
constexpr uint64_t kMostEventBytes = 64 << 20;      // of one event
constexpr uint64_t kMostConstantBytes = 256 << 20;  // of all checkpoints of a chunk, which are kept while it is read
constexpr size_t kMostProblems = 20;
constexpr size_t kMostChunks = 1 << 17;  // the JDK begins one every 12 MB; each is some hundred bytes in Python
constexpr size_t kEventHead = 32;
constexpr int64_t kClockJumpNs = 60'000'000'000;
enum : int64_t { kMetadataEvent = 0, kCheckpointEvent = 1 };

bool begins_chunk(std::span<const uint8_t> bytes) {
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

uint64_t big_endian(const uint8_t* at, unsigned bytes) { return Cursor(at, at + bytes, false).fixed(bytes); }

}  // namespace

struct Reader::Chunk {
  ChunkInfo* info;
  uint64_t end = 0;  // of its bytes that are in the file
  bool compressed = true;
  uint64_t constant_bytes = 0;  // of the checkpoints that were read
  Metadata metadata;
  std::unique_ptr<Layouts> layouts;
  std::unique_ptr<Constants> constants;
  std::unique_ptr<ResolvedConstants> resolved;
};

void Reader::ChunkDeleter::operator()(Chunk* chunk) const { delete chunk; }

Reader::Reader(const std::string& path, std::unordered_set<std::string> wanted, Times times, size_t most_chunks)
    : file_(path), times_(times), most_chunks_(most_chunks), tables_(std::move(wanted)), layout_budget_(file_.size()) {
  interned_.budget().set_file_size(file_.size());
  refused_ = file_.problem();
  if (refused_.empty() && file_.size() == 0) refused_ = "it is empty";
  if (refused_.empty()) open_chunk();
  if (refused_.empty() && chunks_.empty()) refused_ = "it ends before its first chunk does";
}

void Reader::problem(uint64_t offset, std::string text) {
  ++problem_count_;
  if (problems_.size() < kMostProblems) problems_.push_back({offset, std::move(text)});
}

EventTable* Reader::next() {
  if (handed_out_ != nullptr) tables_.taken(std::exchange(handed_out_, nullptr));
  if (!refused_.empty()) return nullptr;
  most_values_ = kMostValues;
  for (bool is_more = true; handed_out_ == nullptr && is_more;) {
    while (tables_.values() + interned_.waiting_frames() < most_values_ && is_more) {
      is_more = chunk_ || open_chunk();
      if (is_more) read_events();
    }
    handed_out_ = tables_.largest();
    // All that waits may be what damaged events have left: their texts are nobody's, their stacks may be others' as
    // well.
    tables_.drop_texts();
    most_values_ = tables_.values() + interned_.waiting_frames() + kMostValues;
  }
  if (handed_out_ != nullptr) handed_out_->resize(handed_out_->rows);
  return handed_out_;
}

// --- chunks --------------------------------------------------------------------------------------------------------

bool Reader::parse_header(uint64_t offset, ChunkInfo* info, uint64_t* constants, uint64_t* metadata, bool* compressed) {
  const auto bytes = file_.view(offset, kHeaderBytes);
  if (bytes.size() < kHeaderBytes || !begins_chunk(bytes)) return false;
  const uint8_t* at = bytes.data();
  const auto number = [&](size_t place) { return static_cast<int64_t>(big_endian(at + place, 8)); };
  info->offset = offset;
  info->major = static_cast<int>(big_endian(at + 4, 2));
  info->minor = static_cast<int>(big_endian(at + 6, 2));
  info->size = big_endian(at + 8, 8);
  *constants = big_endian(at + 16, 8);
  *metadata = big_endian(at + 24, 8);
  info->start_ns = number(32);
  info->dur_ns = number(40);
  info->start_ticks = number(48);
  info->ticks_per_second = number(56);
  *compressed = (at[67] & 1) != 0;
  return true;
}

// Opens the chunk at position_, or the next that there is. False at the end of the file.
bool Reader::open_chunk() {
  while (position_ < file_.size()) {
    if (most_chunks_ != 0 && chunks_.size() == most_chunks_) return false;
    if (chunks_.size() == kMostChunks) {
      problem(position_, "more chunks than " + std::to_string(kMostChunks));
      position_ = file_.size();
      return false;
    }
    ChunkInfo info;
    uint64_t constants = 0, metadata = 0;
    auto chunk = std::unique_ptr<Chunk, ChunkDeleter>(new Chunk{});
    if (!parse_header(position_, &info, &constants, &metadata, &chunk->compressed)) {
      if (chunks_.empty()) {
        refused_ = file_.size() < kHeaderBytes ? "it is shorter than a chunk's header" : "it does not begin with FLR";
        return false;
      }
      problem(position_, "bytes that are no chunk");
      if (!find_magic(position_ + 1, &position_)) return false;
      continue;
    }
    if (info.major > kNewestMajor || info.major < 1) {
      const std::string text = "version " + std::to_string(info.major) + "." + std::to_string(info.minor);
      problem(position_, "a chunk of " + text);
      position_ = file_.size();
      if (!chunks_.empty()) return false;
      newer_ = info.major > kNewestMajor ? info.major : 0;
      refused_ = text;
      return false;
    }
    const uint64_t left = file_.size() - position_;
    info.is_cut = info.size < kHeaderBytes || info.size > left;
    chunk->end = position_ + (info.is_cut ? left : info.size);
    if (info.is_cut) problem(position_, "a chunk that was never finished, or whose end is missing");
    info.base_ns = info.start_ns;  // until its types are known
    chunks_.push_back(info);
    chunk->info = &chunks_.back();
    chunk_ = std::move(chunk);
    position_ = info.offset + kHeaderBytes;
    if (!load(constants, metadata)) {
      close_chunk(chunk_->end);
      continue;
    }
    clock_ = clock_for(chunks_.back(), chunk_->metadata.id());
    chunks_.back().base_ns = clock_.time_ns(info.start_ticks);
    tables_.begin_chunk(chunk_->layouts.get(), chunk_->resolved.get(), clock_);
    return true;
  }
  return false;
}

Clock Reader::clock_for(const ChunkInfo& info, int64_t metadata) {
  Clock clock{info.start_ns, info.start_ticks, static_cast<double>(info.ticks_per_second) / 1e9};
  if (info.ticks_per_second <= 0) {
    problem(info.offset, "a chunk whose clock has no rate: its ticks are taken for nanoseconds");
    clock.ticks_per_ns = 1;
  }
  const bool is_first = !metadata_.has_value();
  const bool is_alike = metadata_ == metadata;
  metadata_ = metadata;
  if (times_ == Times::ticks) {
    clock.base_ns = clock.span_ns(info.start_ticks);
  } else if (times_ == Times::wall) {
    if (is_alike) return clock_;  // the JDK's reader keeps its clock as long as the types stay
  } else if (!is_first) {
    const int64_t base = clock_.time_ns(info.start_ticks);
    // Chunks of different JVMs can be put into one file; the wall clock is all that these have in common.
    const bool is_same = clock_.ticks_per_ns == clock.ticks_per_ns && base > info.start_ns - kClockJumpNs &&
                         base - kClockJumpNs < info.start_ns;
    if (is_same) clock.base_ns = base;
  }
  return clock;
}

void Reader::close_chunk(uint64_t next) {
  if (interned_.budget().is_exceeded() && !is_text_cut_) {
    is_text_cut_ = true;
    problem(chunk_->info->offset,
            "names that are longer, or named more often, than those of any program: they end in ...");
  }
  if (interned_.has_more_threads() && !are_threads_left_out_) {
    are_threads_left_out_ = true;
    problem(chunk_->info->offset, "more threads than " + std::to_string(InternedRows::kMostThreads));
  }
  chunk_.reset();
  position_ = next;
}

bool Reader::find_magic(uint64_t from, uint64_t* at) {
  for (uint64_t place = from; place + kHeaderBytes <= file_.size();) {
    const auto bytes = file_.view(place, kHeaderBytes);
    const auto found = std::search(bytes.begin(), bytes.end(), kMagic.begin(), kMagic.end());
    if (found != bytes.end()) {
      *at = place + static_cast<uint64_t>(found - bytes.begin());
      return true;
    }
    if (bytes.size() < kHeaderBytes) break;
    place += bytes.size() - (kMagic.size() - 1);
  }
  *at = file_.size();
  return false;
}

// --- types and constants -------------------------------------------------------------------------------------------

bool Reader::event_at(uint64_t offset, uint64_t* bytes, int64_t* type) {
  if (offset < chunk_->info->offset + kHeaderBytes || offset >= chunk_->end) return false;
  const auto head = file_.view(offset, kEventHead);
  Cursor in(head.data(), head.data() + head.size(), chunk_->compressed);
  *bytes = in.integer(4);
  *type = static_cast<int64_t>(in.integer(8));
  const auto used = static_cast<uint64_t>(in.at() - head.data());
  return in.ok() && *bytes >= used && *bytes <= chunk_->end - offset;
}

bool Reader::load(uint64_t constants, uint64_t metadata) {
  const uint64_t start = chunk_->info->offset;
  std::vector<uint64_t> checkpoints;
  uint64_t last = 0;
  bool scanned = chunk_->info->is_cut;
  if (scanned) scan(&last, &checkpoints);
  const uint64_t inside = chunk_->end - start;
  if (metadata >= inside || !load_metadata(start + metadata)) {
    if (!scanned) scan(&last, &checkpoints);
    scanned = true;
    if (last == 0 || !load_metadata(last)) {
      problem(start, "a chunk without a description of its events: nothing of it can be read");
      return false;
    }
  }
  chunk_->layouts = std::make_unique<Layouts>(chunk_->metadata, &layout_budget_);
  chunk_->constants = std::make_unique<Constants>(chunk_->layouts.get(), chunk_->compressed);
  chunk_->resolved = std::make_unique<ResolvedConstants>(chunk_->constants.get(), &interned_);
  if (constants < inside && load_constants(start + constants)) return true;
  if (!chunk_->info->is_cut) problem(start + std::min(constants, inside), "constants that can't be read whole");
  if (!scanned) scan(&last, &checkpoints);
  // What is left of them, the newest first, as the chain goes.
  int64_t previous = 0;
  for (auto at = checkpoints.rbegin(); at != checkpoints.rend(); ++at) add_checkpoint(*at, chunk_->end, &previous);
  return true;
}

bool Reader::load_metadata(uint64_t offset) {
  uint64_t bytes = 0;
  int64_t type = -1;
  if (!event_at(offset, &bytes, &type) || type != kMetadataEvent || bytes > kMostEventBytes) return false;
  const auto whole = file_.view(offset, bytes);
  if (whole.size() < bytes) return false;
  Cursor in(whole.data(), whole.data() + bytes, chunk_->compressed);
  in.integer(4);
  in.integer(8);
  return chunk_->metadata.parse(in);
}

// Follows the chain of checkpoints, each of which says how far before it the one before lies. Each ends before the next
// begins: a chain of checkpoints inside each other would be the square of the file to read, and to keep.
bool Reader::load_constants(uint64_t first) {
  uint64_t end = chunk_->end;
  for (uint64_t at = first;;) {
    int64_t previous = 0;
    if (!add_checkpoint(at, end, &previous)) return false;
    if (previous == 0) return true;
    if (previous > 0 || static_cast<uint64_t>(-(previous + 1)) >= at) {
      problem(at, "constants that point forward");  // and so might go round for ever
      return false;
    }
    end = at;
    at -= static_cast<uint64_t>(-(previous + 1)) + 1;
  }
}

bool Reader::add_checkpoint(uint64_t offset, uint64_t end, int64_t* previous) {
  uint64_t bytes = 0;
  int64_t type = -1;
  if (!event_at(offset, &bytes, &type) || type != kCheckpointEvent) return false;
  if (bytes > end - offset) {
    problem(offset, "constants that lie inside other constants");
    return false;
  }
  if (bytes > kMostConstantBytes - chunk_->constant_bytes) {
    problem(offset, "constants of more than " + std::to_string(kMostConstantBytes) + " bytes in a chunk");
    return false;
  }
  chunk_->constant_bytes += bytes;
  std::vector<uint8_t> whole = file_.copy(offset, bytes);
  if (whole.empty()) return false;
  std::string what;
  if (chunk_->constants->add(std::move(whole), previous, &what)) return true;
  problem(offset, std::move(what));
  return false;
}

// Finds them by going from event to event: the header of a chunk that was never finished does not know. Nor does it
// know where the chunk ends, which is where the next begins: what that one says of types and constants is not this
// one's.
void Reader::scan(uint64_t* metadata, std::vector<uint64_t>* checkpoints) {
  uint64_t bytes = 0;
  int64_t type = -1;
  uint64_t at = position_;
  const bool is_cut = chunk_->info->is_cut;
  for (; event_at(at, &bytes, &type) && bytes > 0; at += bytes) {
    if (is_cut && begins_chunk(file_.view(at, kEventHead))) break;
    if (type == kMetadataEvent) *metadata = at;
    if (type == kCheckpointEvent) checkpoints->push_back(at);
  }
  if (is_cut) find_magic(at, &chunk_->end);
}

// --- events --------------------------------------------------------------------------------------------------------

void Reader::read_events() {
  Chunk& chunk = *chunk_;
  while (position_ < chunk.end) {
    auto bytes = file_.view(position_, kEventHead);
    const auto here = std::min<uint64_t>(bytes.size(), chunk.end - position_);
    // Of a chunk that was never finished nobody knows the end: it is where the next begins.
    if (chunk.info->is_cut && begins_chunk(bytes)) break;
    Cursor in(bytes.data(), bytes.data() + here, chunk.compressed, bytes.data() + bytes.size());
    const uint64_t size = in.integer(4);
    const auto type = static_cast<int64_t>(in.integer(8));
    const auto head = static_cast<uint64_t>(in.at() - bytes.data());
    if (!in.ok() || size < head || size > chunk.end - position_) {
      // Where a file is cut off, its last event is, too; that is said already.
      if (!chunk.info->is_cut) problem(position_, "an event whose length can't be: the rest of its chunk is not read");
      break;
    }
    if (type != kMetadataEvent && type != kCheckpointEvent) {
      if (size > kMostEventBytes) {
        problem(position_, "an event of " + std::to_string(size) + " bytes, which is passed over");
      } else {
        if (size > bytes.size()) bytes = file_.view(position_, size);
        const bool is_whole = bytes.size() >= size;
        const uint8_t* at = bytes.data();
        const uint8_t* readable = at + bytes.size();
        if (!is_whole || !tables_.add(type, {at + head, at + size, chunk.compressed, readable})) {
          problem(position_, "an event that does not hold what its type says");
        }
        ++chunk.info->events;
      }
    }
    position_ += size;
    if (tables_.values() + interned_.waiting_frames() >= most_values_) return;
  }
  uint64_t next = chunk.end;
  if (chunk.info->is_cut) find_magic(position_, &next);
  close_chunk(next);
}

}  // namespace headway::jfr
