#include "decode/agent_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

constexpr uint32_t kMaxChunk = 1 << 20;
constexpr size_t kReadBytes = 1 << 20;
constexpr int64_t kLatest = int64_t{1} << 61;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // the longest file that an agent writes (agent/core/chunk_file.h)
// Of a program that means harm: an honest one has far fewer, and each costs Python some hundred bytes.
constexpr size_t kMostThreads = size_t{1} << 20;
constexpr size_t kMostPhases = size_t{1} << 20;
constexpr size_t kMostFactBytes = size_t{16} << 20;
constexpr size_t kMostFacts = 1024;

// What a record takes at most until it is a row, in C++ and in Python, as measured; those of locks tell it themselves.
uint64_t cost_of(const hw_record* record) {
  constexpr uint64_t kTexts = 3;  // copies of a name: the file's, Python's, the table's
  switch (record->type) {
    case HW_THREAD_START:
    case HW_PHASE:
      return 600 + kTexts * record->size;
    case HW_THREAD_NAME:
      return 150 + kTexts * record->size;
    case HW_THREAD_END:
    case HW_VTHREAD_UNMOUNT:
      return 64;
    case HW_VTHREAD_MOUNT:
      return 200;
    case HW_JVM_INFO:
      return 500 + 2 * kTexts * record->size;
    default:
      return 0;
  }
}

// The text behind a record's fixed part.
std::string text_at(const hw_record* record, size_t offset, size_t bytes) {
  return std::string(text_in(record, offset, bytes));
}

class AgentBuilder {
 public:
  AgentBuilder(AgentFile* out, LockRecords* locks, RecordRoom* room) : out_(*out), locks_(*locks), room_(*room) {}

  // Takes a record that begins at `offset` of the file, unless its time or thread is damage.
  void take(const hw_record* record, uint64_t offset) {
    if (record->ts_ns < 0 || record->ts_ns > kLatest || !is_id(record->tid)) return;
    out_.last_ns = std::max<int64_t>(out_.last_ns, record->ts_ns);
    const uint64_t of_objects = out_.allocations.cost_of(record) + out_.accesses.cost_of(record) +
                                out_.lines.cost_of(record) + out_.nodes.cost_of(record);
    if (!room_.take(cost_of(record) + locks_.cost_of(record) + of_objects)) return lose();
    take_valid(record);
    locks_.take(record, offset);
    if (!out_.allocations.take(record) || !out_.accesses.take(record) || !out_.lines.take(record) ||
        !out_.nodes.take(record)) {
      lose();
    }
  }

  // Chunks are by thread, so ends, starts and the parts of long values may come in any order.
  void finish() {
    for (const hw_thread_end& end : ends_) {
      const auto found = by_id_.find({end.head.tid, end.java_id});
      if (found == by_id_.end()) continue;
      JavaThread& thread = out_.threads[found->second];
      thread.end_ns = end.head.ts_ns;
      thread.cpu_ns = static_cast<int64_t>(std::min<uint64_t>(end.cpu_ns, kLatest));
    }
    for (auto& [key, name] : names_) {
      const auto found = by_id_.find(key);
      if (found != by_id_.end()) out_.threads[found->second].name = std::move(name.second);
    }
    std::stable_sort(out_.threads.begin(), out_.threads.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    std::stable_sort(out_.phases.begin(), out_.phases.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    join_mounts();
    for (auto& [key, parts] : facts_) {
      JvmFact fact{parts.begin()->second.first, key, {}};
      for (auto& [number, part] : parts) fact.value += part.second;
      out_.facts.push_back(std::move(fact));
    }
  }

 private:
  void take_valid(const hw_record* record) {
    switch (record->type) {
      case HW_THREAD_START:
        return on_start(record);
      case HW_THREAD_NAME:
        return on_name(record);
      case HW_THREAD_END:
        return on_end(record);
      case HW_PHASE:
        return on_phase(record);
      case HW_JVM_INFO:
        return on_info(record);
      case HW_VTHREAD_MOUNT:
      case HW_VTHREAD_UNMOUNT:
        return on_mount(record);
      case HW_VTHREAD_START:
        ++out_.virtual_threads;
        return;
      default:
        return;  // of locks, or of a newer agent
    }
  }

  void on_start(const hw_record* record) {
    hw_thread_start start;
    if (!read_as(record, &start) || start.java_id > INT64_MAX) return;
    if (out_.threads.size() >= kMostThreads) return lose();
    if (!by_id_.try_emplace({start.head.tid, start.java_id}, out_.threads.size()).second) return;
    out_.threads.push_back({start.head.tid, start.head.ts_ns, -1, -1, start.java_id, start.flags,
                            text_at(record, sizeof start, start.name_bytes),
                            text_at(record, sizeof start + start.name_bytes, start.group_bytes)});
  }

  void on_name(const hw_record* record) {
    hw_thread_start start;
    if (!read_as(record, &start)) return;
    if (names_.size() >= kMostThreads) return lose();
    auto& last = names_[{start.head.tid, start.java_id}];
    if (last.first <= start.head.ts_ns) {
      last = {start.head.ts_ns, text_at(record, sizeof start, start.name_bytes)};
    }
  }

  void on_end(const hw_record* record) {
    hw_thread_end end;
    if (!read_as(record, &end)) return;
    if (ends_.size() >= kMostThreads) return lose();
    ends_.push_back(end);
  }

  void on_phase(const hw_record* record) {
    hw_phase phase;
    if (!read_as(record, &phase) || phase.start_ns < 0 || phase.start_ns > phase.head.ts_ns) return;
    if (out_.phases.size() >= kMostPhases) return lose();
    out_.phases.push_back(
        {phase.start_ns, phase.head.ts_ns, phase.kind, text_at(record, sizeof phase, phase.cause_bytes)});
  }

  void on_mount(const hw_record* record) {
    hw_mount mount;
    if (!read_as(record, &mount) || mount.java_id == 0 || mount.java_id > INT64_MAX) return;
    const bool ends = record->type == HW_VTHREAD_UNMOUNT;
    mounts_.push_back({mount.head.ts_ns, ends ? mount.head.ts_ns : -1, mount.java_id, mount.head.tid});
  }

  // A carrier has one virtual thread at a time: what was not seen to end has ended by the carrier's next event. Where records
  // are lost nobody knows when it did, and the carrier keeps that time.
  void join_mounts() {
    std::stable_sort(mounts_.begin(), mounts_.end(), [](const Mount& a, const Mount& b) {
      return std::tie(a.tid, a.start_ns) < std::tie(b.tid, b.start_ns);
    });
    for (size_t i = 0; i < mounts_.size(); ++i) {
      if (mounts_[i].end_ns >= 0) continue;  // an end
      Mount mount = mounts_[i];
      const bool has_next = i + 1 < mounts_.size() && mounts_[i + 1].tid == mount.tid;
      const bool has_seen_end = has_next && mounts_[i + 1].end_ns >= 0 && mounts_[i + 1].java_id == mount.java_id;
      if (out_.lost > 0 && !has_seen_end) continue;
      if (has_next) mount.end_ns = mounts_[i + 1].start_ns;
      out_.mounts.push_back(mount);
    }
  }

  void on_info(const hw_record* record) {
    hw_jvm_info info;
    if (!read_as(record, &info)) return;
    fact_bytes_ += record->size;
    if (fact_bytes_ > kMostFactBytes) return lose();
    const std::string key = text_at(record, sizeof info, info.key_bytes);
    if (facts_.size() >= kMostFacts && !facts_.contains(key)) return lose();
    facts_[key][info.part] = {info.head.ts_ns, text_at(record, sizeof info + info.key_bytes, info.value_bytes)};
  }

  void lose() { out_.lost = std::min<uint64_t>(out_.lost + 1, kLatest); }

  AgentFile& out_;
  LockRecords& locks_;
  RecordRoom& room_;
  size_t fact_bytes_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, size_t> by_id_;
  std::map<std::pair<uint32_t, uint64_t>, std::pair<int64_t, std::string>> names_;  // the last one of each thread
  std::vector<hw_thread_end> ends_;
  std::vector<Mount> mounts_;  // begins (end -1) and ends
  std::map<std::string, std::map<uint16_t, std::pair<int64_t, std::string>>> facts_;
};

// Hands on the records of one chunk, which begins at `offset` of the file. `chunk` is aligned and has `bytes` bytes.
void read_chunk(const char* chunk, size_t bytes, uint64_t offset, AgentBuilder* builder) {
  hw_agent_chunk head;
  std::memcpy(&head, chunk, sizeof head);
  if (head.head.type != HW_AGENT_CHUNK) return;
  const size_t used = std::min<size_t>(head.used, bytes);
  size_t at = sizeof head;
  while (at + sizeof(hw_record) <= used) {
    const auto* record = reinterpret_cast<const hw_record*>(chunk + at);
    if (record->size < sizeof(hw_record) || record->size % 8 != 0 || record->size > used - at) return;
    builder->take(record, offset + at);
    at += record->size;
  }
}

// Reads the chunks of a file from front to back.
void read_chunks(int fd, uint32_t chunk_bytes, AgentBuilder* builder) {
  const size_t at_once = std::max<size_t>(1, kReadBytes / chunk_bytes) * chunk_bytes;
  std::vector<uint64_t> buffer(at_once / sizeof(uint64_t));
  char* const bytes = reinterpret_cast<char*>(buffer.data());
  for (uint64_t offset = HW_HEADER_BYTES; offset < kMostBytes; offset += at_once) {
    size_t have = 0;
    while (have < at_once) {
      const ssize_t got = pread(fd, bytes + have, at_once - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    for (size_t at = 0; at + sizeof(hw_agent_chunk) <= have; at += chunk_bytes) {
      read_chunk(bytes + at, std::min<size_t>(chunk_bytes, have - at), offset + at, builder);
    }
    if (have < at_once) return;
  }
}

// The agent takes room for a chunk before it says so in the header. It says as well when it found its file cut off.
bool is_cut_off(int fd, const hw_spool_header& header) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return false;
  const auto bytes = static_cast<uint64_t>(status.st_size);
  constexpr char kNone[sizeof(header.magic)] = {};
  if (bytes < HW_HEADER_BYTES || std::memcmp(header.magic, kNone, sizeof kNone) == 0) return true;
  const bool is_spool = std::memcmp(header.magic, HW_SPOOL_MAGIC, sizeof header.magic) == 0;
  const bool lacks_chunks = header.next_chunk >= header.chunk_bytes && bytes <= header.next_chunk - header.chunk_bytes;
  return is_spool && (header.end == HW_CLOSE_CUT || lacks_chunks);
}

}  // namespace

AgentFile read_agent_file(const std::string& path, LockRecords* locks, RecordRoom* room) {
  AgentFile file;
  file.path = path;
  RecordReader reader(path);
  file.problem = reader.problem();
  const hw_spool_header& header = reader.header();
  file.pid = header.pid;
  file.lost = std::min<uint64_t>(header.lost, kLatest);
  file.created_ns = std::clamp<int64_t>(header.created_ns, 0, kLatest);
  if (!is_id(header.pid)) {
    file.pid = 0;
    if (file.problem.empty()) file.problem = "its process id is impossible";
  }
  const bool fits = header.chunk_bytes >= sizeof(hw_agent_chunk) && header.chunk_bytes <= kMaxChunk;
  if (file.problem.empty() && (!fits || header.chunk_bytes % 8 != 0)) file.problem = "its chunk size is impossible";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) {
    if (file.problem.empty()) file.problem = std::strerror(errno);
    return file;
  }
  file.is_cut = is_cut_off(fd, header);
  if (!file.problem.empty()) {
    close(fd);
    return file;
  }
  AgentBuilder builder(&file, locks, room);
  read_chunks(fd, header.chunk_bytes, &builder);
  close(fd);
  builder.finish();
  locks->finish();
  file.accesses.finish(&file.allocations);
  file.lines.finish(&file.allocations);
  file.nodes.finish(&file.allocations);
  file.allocations.finish(*locks);
  return file;
}

}  // namespace headway
