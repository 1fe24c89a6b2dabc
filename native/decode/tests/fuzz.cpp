// libFuzzer entry: the input is cut into the files of a spool, bytes as they come behind valid headers.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "decode/tests/decode_all.h"
#include "decode/tests/lock_table_bytes.h"
#include "testing/fuzz_inputs.h"

namespace {

class Directory {
 public:
  Directory() {
    char name[] = "/tmp/headway-fuzz-XXXXXX";
    CHECK(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string& directory() {
  static const Directory made;
  return made.path();
}

// The first two bytes of the data are the counters and groups that the header names, beside being what they are.
void write(const std::string& name, hw_source source, hw_u32 chunk_bytes, const uint8_t* data, size_t size) {
  hw_spool_header header{};
  std::memcpy(header.magic, HW_SPOOL_MAGIC, sizeof header.magic);
  header.version = HW_SPOOL_VERSION;
  header.source = source;
  header.producer = HW_PRODUCER_EBPF;
  header.chunk_bytes = chunk_bytes;
  header.counters = size > 1 ? data[0] % (HW_COUNTERS + 2) : 0;
  header.counter_groups = size > 1 ? data[1] % (HW_COUNTER_GROUPS + 2) : 0;
  std::vector<char> head(HW_HEADER_BYTES);
  std::memcpy(head.data(), &header, sizeof header);
  std::ofstream out(directory() + "/" + name, std::ios::binary);
  out.write(head.data(), HW_HEADER_BYTES);
  out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

// The bytes are the header's counts, some names of classes, and slots.
void write_table(const uint8_t* data, size_t size) {
  headway::LockTableBytes table;
  if (size >= 8) {
    std::memcpy(&table.header.slots, data, 4);
    std::memcpy(&table.header.classes, data + 4, 4);
  }
  for (size_t at = 8; at + sizeof(hw_lock_slot) <= size; at += sizeof(hw_lock_slot)) {
    std::memcpy(&table.slots.emplace_back(), data + at, sizeof(hw_lock_slot));
  }
  table.write(directory() + "/locks-1.table");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const size_t first = size * data[0] / 512, second = first + (size - first) * data[1] / 512;
  const size_t third = second + (size - second) * data[3] / 512;
  write("sched-cpu0.spool", HW_SOURCE_SCHED, 0, data, first);
  write("lifecycle.spool", HW_SOURCE_LIFECYCLE, 0, data + first, second - first);
  write("agent-1.spool", HW_SOURCE_AGENT, 256, data + second, third - second);
  write_table(data + third, size - third);
  headway::decode_all(directory(), 0, int64_t{1} << (data[2] % 61));
  return 0;
}

namespace {

constexpr size_t kSeedChunk = 256;

// Adds a record with a text behind its fixed part to chunks of an agent's file, one chunk each.
template <typename T>
void put(std::string* chunks, T record, hw_type type, const std::string& text = "") {
  const size_t size = (sizeof record + text.size() + 7) / 8 * 8;
  record.head = {1000, static_cast<hw_u16>(type), static_cast<hw_u16>(size), 1};
  hw_agent_chunk head{};
  head.head.type = HW_AGENT_CHUNK;
  head.used = static_cast<hw_u32>(sizeof head + size);
  std::string chunk(reinterpret_cast<const char*>(&head), sizeof head);
  chunk.append(reinterpret_cast<const char*>(&record), sizeof record).append(text);
  chunk.resize(kSeedChunk);
  *chunks += chunk;
}

// What an agent says of threads and objects: kinds of records that bytes at random are hardly ever.
std::string agent_seed() {
  std::string out;
  put(&out, hw_thread_start{{}, 1, 0, 3, 3}, HW_THREAD_START, "abcdef");
  put(&out, hw_thread_start{{}, 1, 0, 3, 0}, HW_THREAD_NAME, "xyz");
  put(&out, hw_thread_end{{}, 1, 500}, HW_THREAD_END);
  put(&out, hw_mount{{}, 2}, HW_VTHREAD_MOUNT);
  put(&out, hw_mount{{}, 2}, HW_VTHREAD_UNMOUNT);
  put(&out, hw_phase{{}, 10, HW_PH_GC_PAUSE, 4}, HW_PHASE, "full");
  put(&out, hw_jvm_info{{}, 4, 0, 4}, HW_JVM_INFO, "key1word");
  put(&out, hw_waiting_stack{{}, 1, 1, HW_ST_SLEEP, 0}, HW_WAITING_STACK);
  put(&out, hw_java_class{{}, 1, 5}, HW_JAVA_CLASS, "a.b.C");
  put(&out, hw_allocation{{}, 1, 1, 1, 2, 64, 0, {}}, HW_ALLOCATION);
  put(&out, hw_access{{}, 1, 1, 0, {1, 2, 3, 4, 5, 6}}, HW_ACCESS);
  for (const hw_type type : {HW_ACCESS_OWNERS, HW_ACCESS_WRITERS}) {
    put(&out, hw_access_owners{{}, 1, 1, 0, {1, 1, 1, 1}, {0, 1, 2, 3}}, type);
  }
  for (const hw_type type : {HW_ACCESS_PAIR, HW_ACCESS_WRITER_PAIR}) {
    put(&out, hw_access_pair{{}, 1, 2, 0, 0, {1, 2, 3, 4}}, type);
  }
  put(&out, hw_access_window{{}, 1, 1, 0, {9, 8, 7, 6, 5, 4, 3, 2, 1}}, HW_ACCESS_WINDOW);
  put(&out, hw_line_place{{}, 1, 1, 16, 0}, HW_LINE_PLACE);
  put(&out, hw_line_writes{{}, 1, 1, 0, 9}, HW_LINE_WRITES);
  put(&out, hw_line_share{{}, 1, 2, 1, 1, HW_LINE_SAME_LINE, 1, 0, 5}, HW_LINE_SHARE);
  for (const hw_type type : {HW_ACCESS_NODES, HW_ACCESS_NODE_PAIR, HW_ACCESS_NODE_WRITER_PAIR}) {
    put(&out, hw_access_nodes{{}, 1, 1, 0, 0, 1, 0, 3, 3000}, type);
  }
  // The first bytes say how the input is cut: nothing for the kernel's files, half of it for the agent's. They are the time of
  // the first chunk, which nobody reads.
  const char cut[] = {0, 0, 40, static_cast<char>(255)};
  std::copy(std::begin(cut), std::end(cut), out.begin());
  out.resize(2 * out.size() + kSeedChunk);
  return out;
}

}  // namespace

std::vector<std::string> fuzz_seeds() { return {agent_seed()}; }
