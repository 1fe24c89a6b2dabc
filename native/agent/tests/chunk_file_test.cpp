// The agent's spool file: chunks of many threads, full files and disks, records that a signal interrupts.
#include "agent/core/chunk_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include "agent/core/backed_file.h"
#include "numbered_records.h"
#include "testing/check.h"
#include "testing/scratch.h"

using headway::agent::ChunkFile;
using headway::agent::ThreadSlot;

namespace {

constexpr pid_t kPid = 4711;

// Per writer, the numbers found in the file, in the order of the file. Reads as the decoder must: by `used`, skipping
// holes.
std::map<uint32_t, std::vector<uint64_t>> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(in)), {});
  hw_spool_header header{};
  CHECK(data.size() >= sizeof(header));
  std::memcpy(&header, data.data(), sizeof(header));
  CHECK(std::memcmp(header.magic, HW_SPOOL_MAGIC, 8) == 0);
  CHECK_EQUAL(header.pid, static_cast<uint32_t>(kPid));
  std::map<uint32_t, std::vector<uint64_t>> found;
  for (size_t at = HW_HEADER_BYTES; at + sizeof(hw_agent_chunk) <= data.size(); at += header.chunk_bytes) {
    hw_agent_chunk chunk{};
    std::memcpy(&chunk, data.data() + at, sizeof(chunk));
    CHECK(chunk.used <= header.chunk_bytes);
    for (size_t r = sizeof(chunk); r < chunk.used;) {
      NumberedRecord record{};
      CHECK(at + r + sizeof(record) <= data.size());
      std::memcpy(&record, data.data() + at + r, sizeof(record));
      CHECK_EQUAL(record.head.size, sizeof(NumberedRecord));
      found[record.head.tid].push_back(record.number);
      r += record.head.size;
    }
  }
  return found;
}

void what_is_written_is_read_back_in_order(bool no_map) {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  CHECK(file.recording());
  ThreadSlot slot;
  slot.tid = 7;
  for (uint64_t i = 0; i < 1000; ++i) CHECK(write(file, slot, i));  // several chunks
  auto found = read(file.path());
  CHECK_EQUAL(found[7].size(), 1000u);
  for (uint64_t i = 0; i < 1000; ++i) CHECK_EQUAL(found[7][i], i);
  CHECK_EQUAL(file.lost(), 0u);
}

void many_threads_lose_nothing_and_never_share_a_place(bool no_map) {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  constexpr uint32_t kThreads = 8;
  constexpr uint64_t kRounds = 20;
  constexpr uint64_t kRecords = 300;
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&file, t] {
      uint64_t number = 0;
      for (uint64_t round = 0; round < kRounds; ++round) {  // each round is a thread's life: its chunk is handed on
        ThreadSlot slot;
        slot.tid = t;
        for (uint64_t i = 0; i < kRecords; ++i) CHECK(write(file, slot, number++));
        file.retire(slot);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  auto found = read(file.path());
  CHECK_EQUAL(found.size(), size_t{kThreads});
  for (auto& [tid, numbers] : found) {
    std::sort(numbers.begin(), numbers.end());
    CHECK_EQUAL(numbers.size(), kRounds * kRecords);
    for (uint64_t i = 0; i < numbers.size(); ++i) CHECK_EQUAL(numbers[i], i);
  }
  CHECK_EQUAL(file.lost(), 0u);
}

void short_threads_share_chunks_one_after_the_other() {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid));
  for (uint32_t t = 1; t <= 1000; ++t) {
    ThreadSlot slot;
    slot.tid = t;
    CHECK(write(file, slot, t));
    file.retire(slot);
  }
  CHECK_EQUAL(read(file.path()).size(), 1000u);
  CHECK(std::filesystem::file_size(file.path()) == HW_HEADER_BYTES + ChunkFile::kSegmentBytes);
}

void a_full_file_falls_silent_and_counts() {
  const Scratch scratch;
  ChunkFile file;
  constexpr uint64_t kRoom = HW_HEADER_BYTES + 2 * ChunkFile::kSegmentBytes;
  CHECK(file.create(scratch.path(), kPid, false, kRoom));
  ThreadSlot slot;
  slot.tid = 1;
  uint64_t written = 0;
  while (write(file, slot, written)) ++written;
  CHECK(!write(file, slot, 0));
  CHECK_EQUAL(file.lost(), 2u);
  CHECK_EQUAL(read(file.path())[1].size(), written);
  CHECK(written > 2 * 100 * (ChunkFile::kSegmentBytes / ChunkFile::kChunkBytes));
}

void a_file_size_limit_is_kept_to_without_a_signal(bool no_map) {
  const Scratch scratch;
  const rlimit small{HW_HEADER_BYTES + ChunkFile::kSegmentBytes + 5000, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  setrlimit(RLIMIT_FSIZE, &small);
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  ThreadSlot slot;
  uint64_t written = 0;
  while (write(file, slot, written)) ++written;
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(written > 0);
  CHECK_EQUAL(read(file.path())[0].size(), written);
}

void a_missing_directory_leaves_nothing() {
  ChunkFile file;
  CHECK(!file.create("/nonexistent/headway", kPid));
}

void a_taken_name_gets_a_number() {
  const Scratch scratch;
  ChunkFile first;
  ChunkFile second;
  CHECK(first.create(scratch.path(), kPid));
  CHECK(second.create(scratch.path(), kPid));
  CHECK_EQUAL(first.path(), scratch.path() + "/agent-4711.spool");
  CHECK_EQUAL(second.path(), scratch.path() + "/agent-4711.2.spool");
}

void the_stop_word_in_the_file_is_seen(bool no_map) {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  CHECK(file.recording());
  std::fstream out(file.path(), std::ios::in | std::ios::out | std::ios::binary);
  const uint32_t one = 1;
  out.seekp(offsetof(hw_spool_header, stop));
  out.write(reinterpret_cast<const char*>(&one), sizeof(one));
  out.flush();
  if (no_map) usleep(2 * ChunkFile::kLookEveryNs / 1000);
  CHECK(!file.recording());
}

void the_file_says_that_it_was_let_go(bool no_map) {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  const auto end = [&] {
    hw_spool_header header{};
    std::ifstream in(file.path(), std::ios::binary);
    in.read(reinterpret_cast<char*>(&header), sizeof(header));
    return header.end;
  };
  CHECK(end() == HW_CLOSE_UNREPORTED);
  file.will_tell_its_end();
  CHECK(end() == HW_CLOSE_PENDING);
  file.release();
  CHECK(end() == HW_CLOSE_DONE);
}

void an_interrupted_record_is_not_torn_by_a_nested_one() {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid));
  ThreadSlot slot;
  slot.tid = 3;
  auto* record = static_cast<NumberedRecord*>(file.begin(slot, sizeof(NumberedRecord)));
  CHECK(record != nullptr);
  CHECK(!write(file, slot, 99));  // as from a signal handler
  *record = {{0, HW_THREAD_END, sizeof(NumberedRecord), 3}, 1};
  file.commit(slot, sizeof(NumberedRecord));
  CHECK(write(file, slot, 2));
  CHECK_EQUAL(file.lost(), 1u);
  CHECK((read(file.path())[3] == std::vector<uint64_t>{1, 2}));
}

void letting_go_of_the_file_while_threads_write_harms_nothing(bool no_map) {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&file, &over, t] {
      ThreadSlot slot;
      slot.tid = t;
      for (uint64_t i = 0; !over; ++i) write(file, slot, i);
    });
  }
  usleep(20'000);
  file.release();
  usleep(20'000);
  over = true;
  for (auto& thread : threads) thread.join();
  CHECK(!file.recording());
  for (auto& [tid, numbers] : read(file.path())) {
    std::sort(numbers.begin(), numbers.end());
    for (uint64_t i = 0; i < numbers.size(); ++i) CHECK_EQUAL(numbers[i], i);
  }
}

// Bytes of memory that this process has for itself.
uint64_t own_memory() {
  std::ifstream status("/proc/self/status");
  std::string key;
  for (uint64_t kilobytes = 0; status >> key;) {
    if (key == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

void memory_does_not_grow_with_what_is_written_without_a_mapping() {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, true));
  ThreadSlot slot;
  constexpr uint32_t kBytes = 4000;  // a record to a chunk
  constexpr uint64_t kRecords = 16'384;
  const uint64_t before = own_memory();
  CHECK(before > 0);
  for (uint64_t i = 0; i < kRecords; ++i) {
    auto* record = static_cast<NumberedRecord*>(file.begin(slot, kBytes));
    CHECK(record != nullptr);
    *record = {{0, HW_THREAD_END, static_cast<hw_u16>(kBytes), slot.tid}, i};
    file.commit(slot, kBytes);
    if (i % 2 == 0) file.retire(slot);  // as when its thread ends
  }
  CHECK(std::filesystem::file_size(file.path()) > kRecords * kBytes);
  CHECK(own_memory() < before + kRecords * kBytes / 4);
}

void a_descriptor_that_was_given_to_another_file_is_left_alone() {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid));
  // A careless program closes descriptors it does not own, then opens a file of its own under the same number.
  const std::string other = scratch.path() + "/other";
  for (int fd = 3; fd < 64; ++fd) {
    struct stat status {};
    struct stat ours {};
    CHECK(stat(file.path().c_str(), &ours) == 0);
    if (fstat(fd, &status) == 0 && status.st_ino == ours.st_ino && status.st_dev == ours.st_dev) {
      FILE* taken = std::fopen(other.c_str(), "w");
      CHECK(taken != nullptr && dup2(fileno(taken), fd) == fd);
      std::fclose(taken);
    }
  }
  ThreadSlot slot;
  uint64_t written = 0;
  while (write(file, slot, written)) ++written;  // ends when the first segment is full
  CHECK(written > 0);
  CHECK_EQUAL(std::filesystem::file_size(other), 0u);
  file.release();
}

}  // namespace

void what_is_allocated_ahead_is_in_memory_before_it_is_stored_to() {
  constexpr uint64_t kPage = 4096;
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid));
  const uint64_t first = HW_HEADER_BYTES + ChunkFile::kSegmentBytes;
  ThreadSlot slot;
  slot.tid = 7;
  for (uint64_t i = 0; std::filesystem::file_size(file.path()) <= first; ++i) CHECK(write(file, slot, i));
  const int fd = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  if (headway::agent::must_write_through(fd, 0)) {  // nothing is mapped on btrfs
    close(fd);
    return;
  }
  void* at = mmap(nullptr, ChunkFile::kSegmentBytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(first));
  CHECK(at != MAP_FAILED);
  std::vector<unsigned char> is_resident(ChunkFile::kSegmentBytes / kPage);
  CHECK_EQUAL(mincore(at, ChunkFile::kSegmentBytes, is_resident.data()), 0);
  CHECK(std::ranges::all_of(is_resident, [](unsigned char page) { return (page & 1) != 0; }));
  munmap(at, ChunkFile::kSegmentBytes);
  close(fd);
}

int main() {
  for (const bool no_map : {false, true}) {
    what_is_written_is_read_back_in_order(no_map);
    many_threads_lose_nothing_and_never_share_a_place(no_map);
    a_file_size_limit_is_kept_to_without_a_signal(no_map);
    the_stop_word_in_the_file_is_seen(no_map);
    the_file_says_that_it_was_let_go(no_map);
    letting_go_of_the_file_while_threads_write_harms_nothing(no_map);
  }
  what_is_allocated_ahead_is_in_memory_before_it_is_stored_to();
  short_threads_share_chunks_one_after_the_other();
  a_full_file_falls_silent_and_counts();
  a_missing_directory_leaves_nothing();
  a_taken_name_gets_a_number();
  an_interrupted_record_is_not_torn_by_a_nested_one();
  memory_does_not_grow_with_what_is_written_without_a_mapping();
  a_descriptor_that_was_given_to_another_file_is_left_alone();
}
