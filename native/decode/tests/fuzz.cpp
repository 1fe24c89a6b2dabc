// libFuzzer entry: the input is cut into the files of a spool, bytes as they come behind valid headers.
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

std::vector<std::string> fuzz_seeds() { return {}; }
