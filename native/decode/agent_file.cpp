#include "decode/agent_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "decode/record_reader.h"

namespace headway {
namespace {

constexpr uint32_t kMaxChunk = 1 << 20;
constexpr size_t kReadBytes = 1 << 20;
constexpr int64_t kLatest = int64_t{1} << 61;

// The text behind a record's fixed part.
std::string text_at(const hw_record* record, size_t offset, size_t bytes) {
  return std::string(text_in(record, offset, bytes));
}

class AgentBuilder {
 public:
  explicit AgentBuilder(AgentFile* out) : out_(*out) {}

  // False when the record's time is damage.
  bool take(const hw_record* record) {
    if (record->ts_ns < 0 || record->ts_ns > kLatest) return false;
    out_.last_ns = std::max<int64_t>(out_.last_ns, record->ts_ns);
    take_valid(record);
    return true;
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
      case HW_VTHREAD_START:
        ++out_.virtual_threads;
        return;
      default:
        return;  // of locks, or of a newer agent
    }
  }

  void on_start(const hw_record* record) {
    hw_thread_start start;
    if (!read_as(record, &start)) return;
    if (!by_id_.try_emplace({start.head.tid, start.java_id}, out_.threads.size()).second) return;
    out_.threads.push_back({start.head.tid, start.head.ts_ns, -1, -1, start.java_id, start.flags,
                            text_at(record, sizeof start, start.name_bytes),
                            text_at(record, sizeof start + start.name_bytes, start.group_bytes)});
  }

  void on_name(const hw_record* record) {
    hw_thread_start start;
    if (!read_as(record, &start)) return;
    auto& last = names_[{start.head.tid, start.java_id}];
    if (last.first <= start.head.ts_ns) {
      last = {start.head.ts_ns, text_at(record, sizeof start, start.name_bytes)};
    }
  }

  void on_end(const hw_record* record) {
    hw_thread_end end;
    if (read_as(record, &end)) ends_.push_back(end);
  }

  void on_phase(const hw_record* record) {
    hw_phase phase;
    if (!read_as(record, &phase) || phase.start_ns < 0 || phase.start_ns > phase.head.ts_ns) return;
    out_.phases.push_back(
        {phase.start_ns, phase.head.ts_ns, phase.kind, text_at(record, sizeof phase, phase.cause_bytes)});
  }

  void on_info(const hw_record* record) {
    hw_jvm_info info;
    if (!read_as(record, &info)) return;
    facts_[text_at(record, sizeof info, info.key_bytes)][info.part] = {
        info.head.ts_ns, text_at(record, sizeof info + info.key_bytes, info.value_bytes)};
  }

  AgentFile& out_;
  std::map<std::pair<uint32_t, uint64_t>, size_t> by_id_;
  std::map<std::pair<uint32_t, uint64_t>, std::pair<int64_t, std::string>> names_;  // the last one of each thread
  std::vector<hw_thread_end> ends_;
  std::map<std::string, std::map<uint16_t, std::pair<int64_t, std::string>>> facts_;
};

// Hands on the records of one chunk, which begins at `offset` of the file. `chunk` is aligned and has `bytes` bytes.
void read_chunk(const char* chunk, size_t bytes, uint64_t offset, AgentBuilder* builder, LockRecords* locks) {
  hw_agent_chunk head;
  std::memcpy(&head, chunk, sizeof head);
  if (head.head.type != HW_AGENT_CHUNK) return;
  const size_t used = std::min<size_t>(head.used, bytes);
  size_t at = sizeof head;
  while (at + sizeof(hw_record) <= used) {
    const auto* record = reinterpret_cast<const hw_record*>(chunk + at);
    if (record->size < sizeof(hw_record) || record->size % 8 != 0 || record->size > used - at) return;
    if (builder->take(record)) locks->take(record, offset + at);
    at += record->size;
  }
}

// Reads the chunks of a file from front to back.
void read_chunks(int fd, uint32_t chunk_bytes, AgentBuilder* builder, LockRecords* locks) {
  const size_t at_once = std::max<size_t>(1, kReadBytes / chunk_bytes) * chunk_bytes;
  std::vector<uint64_t> buffer(at_once / sizeof(uint64_t));
  char* const bytes = reinterpret_cast<char*>(buffer.data());
  for (uint64_t offset = HW_HEADER_BYTES;; offset += at_once) {
    size_t have = 0;
    while (have < at_once) {
      const ssize_t got = pread(fd, bytes + have, at_once - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    for (size_t at = 0; at + sizeof(hw_agent_chunk) <= have; at += chunk_bytes) {
      read_chunk(bytes + at, std::min<size_t>(chunk_bytes, have - at), offset + at, builder, locks);
    }
    if (have < at_once) return;
  }
}

}  // namespace

AgentFile read_agent_file(const std::string& path, LockRecords* locks) {
  AgentFile file;
  file.path = path;
  RecordReader reader(path);
  file.problem = reader.problem();
  const hw_spool_header& header = reader.header();
  file.pid = header.pid;
  file.lost = header.lost;
  file.created_ns = header.created_ns;
  const bool fits = header.chunk_bytes >= sizeof(hw_agent_chunk) && header.chunk_bytes <= kMaxChunk;
  if (file.problem.empty() && (!fits || header.chunk_bytes % 8 != 0)) file.problem = "its chunk size is impossible";
  if (!file.problem.empty()) return file;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    file.problem = std::strerror(errno);
    return file;
  }
  AgentBuilder builder(&file);
  read_chunks(fd, header.chunk_bytes, &builder, locks);
  close(fd);
  builder.finish();
  locks->finish();
  return file;
}

}  // namespace headway
