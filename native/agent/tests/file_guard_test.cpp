// Files that somebody cuts off while they are written to, and whose SIGBUS it is.
#include "agent/core/file_guard.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "agent/core/chunk_file.h"
#include "agent/locks/lock_table.h"
#include "numbered_records.h"
#include "testing/check.h"
#include "testing/scratch.h"

using headway::agent::ChunkFile;
using headway::agent::FileGuard;
using headway::agent::LockTable;
using headway::agent::ThreadSlot;

namespace {

constexpr pid_t kPid = 4711;
constexpr uint64_t kPage = 4096;

// Threads that write as the agent's do, until they see that no records are wanted.
void write_from_threads(ChunkFile& file, bool to_nothing) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> seen{0}, begun{0};
  for (uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&file, &seen, &begun, t] {
      ThreadSlot slot;
      slot.tid = t;
      for (uint64_t i = 0; file.recording(); ++i) {
        write(file, slot, i);
        if (i == 1000) ++begun;
      }
      ++seen;
      for (uint64_t i = 0; i < 1000; ++i) write(file, slot, i);  // who was about to write does so still
      file.retire(slot);
    });
  }
  while (begun.load() < 4) usleep(1000);  // so that half of the file is more than its header
  usleep(30'000);
  CHECK_EQUAL(seen.load(), 0);
  file.let_pages_go();
  const auto half = static_cast<int64_t>(std::filesystem::file_size(file.path()) / 2);
  CHECK_EQUAL(truncate(file.path().c_str(), to_nothing ? 0 : half), 0);
  for (auto& thread : threads) thread.join();
}

hw_spool_header header_of(const std::string& path) {
  hw_spool_header header{};
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(&header), sizeof(header));
  return header;
}

void a_spool_that_is_cut_off_ends_its_records_and_no_more(bool no_map, bool to_nothing) {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  write_from_threads(file, to_nothing);
  CHECK(file.is_cut());
  CHECK(!file.recording());
  file.release();
  // It may have grown again: by a thread that was just about to make room.
  const hw_spool_header left = header_of(file.path());
  CHECK_EQUAL(std::memcmp(left.magic, HW_SPOOL_MAGIC, sizeof(left.magic)) == 0, !to_nothing);
  if (!to_nothing) CHECK_EQUAL(left.end, HW_CLOSE_CUT);
}

void a_spool_that_is_cut_while_nobody_writes_is_found_so_at_its_end(bool no_map) {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid, no_map));
  ThreadSlot slot;
  for (uint64_t i = 0; i < 1000; ++i) CHECK(write(file, slot, i));
  CHECK(truncate(file.path().c_str(), HW_HEADER_BYTES) == 0);
  file.release();
  CHECK(file.is_cut());
  CHECK_EQUAL(header_of(file.path()).end, HW_CLOSE_CUT);
}

// It would begin with zeros, and look whole by its length.
void a_spool_that_was_cut_does_not_grow_again() {
  const Scratch scratch;
  ChunkFile file;
  CHECK(file.create(scratch.path(), kPid));
  ThreadSlot slot;
  CHECK(write(file, slot, 0));
  CHECK(truncate(file.path().c_str(), 0) == 0);
  while (write(file, slot, 0)) {
  }
  CHECK_EQUAL(std::filesystem::file_size(file.path()), 0u);
}

void a_table_of_locks_that_is_cut_off_counts_on_for_nobody(uint64_t cut_to) {
  const Scratch scratch;
  const std::string path = scratch.path() + "/locks-4711.table";
  LockTable table;
  CHECK(table.create(path, kPid, false, LockTable::kMaxSlots));
  const uint32_t slot = table.take_slot();
  table.open(slot, {1, 2, table.class_index("a.B"), HW_BK_PARK, 3, 0, 0});
  CHECK(truncate(path.c_str(), static_cast<int64_t>(cut_to)) == 0);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&table, slot] {
      for (int64_t i = 1; i < 5000; ++i) {
        table.begin(slot, i);
        table.end(slot, i + 1);
        if (const uint32_t more = table.take_slot()) table.give_back(more);
        table.class_index("some.Class" + std::to_string(i % 100));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  table.set_updated(1, 0);
  CHECK(table.is_cut());
  table.release();
  table.begin(slot, 10'000);
  const auto size = std::filesystem::file_size(path);
  CHECK(size <= cut_to);
  if (size >= sizeof(hw_lock_header)) CHECK(std::memcmp(header_of(path).magic, HW_LOCK_MAGIC, 8) != 0);
}

// --- whose signal it is ----------------------------------------------------------------------------------------------

std::atomic<int> theirs{0};
std::atomic<const void*> their_address{nullptr};
sigjmp_buf escape;
uint64_t their_mask = 0;

void their_handler(int, siginfo_t* info, void*) {
  ++theirs;
  their_address = info->si_addr;
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  their_mask = sigismember(&mask, SIGUSR1) == 1 ? 1 : 0;
  siglongjmp(escape, 1);
}

void behind_them(int, siginfo_t*, void*) {}

struct sigaction now() {
  struct sigaction action {};
  sigaction(SIGBUS, nullptr, &action);
  return action;
}

void set_theirs() {
  struct sigaction action {};
  action.sa_sigaction = their_handler;
  action.sa_flags = SA_SIGINFO;
  sigaddset(&action.sa_mask, SIGUSR1);
  CHECK(sigaction(SIGBUS, &action, nullptr) == 0);
}

// Stores behind the end of a mapped file that is the program's own.
void fault_of_their_own(const Scratch& scratch, uint64_t mask = 1) {
  const std::string path = scratch.path() + "/theirs";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  void* at = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(at != MAP_FAILED);
  const int before = theirs;
  if (sigsetjmp(escape, 1) == 0) {
    *static_cast<volatile char*>(at) = 1;
    CHECK(false);
  }
  CHECK_EQUAL(theirs.load(), before + 1);
  CHECK(their_address == at);
  CHECK_EQUAL(their_mask, mask);
  munmap(at, kPage);
  close(fd);
}

void a_fault_of_the_program_goes_to_its_own_handler_while_a_file_is_mapped_and_afterwards() {
  const Scratch scratch;
  set_theirs();
  CHECK(!FileGuard::is_installed());
  {
    ChunkFile file;
    CHECK(file.create(scratch.path(), kPid));
    CHECK(FileGuard::is_installed());
    fault_of_their_own(scratch);
    file.release();
    CHECK(!FileGuard::is_installed());
    CHECK(now().sa_sigaction == their_handler);
    CHECK((now().sa_flags & 0xFFFF) == SA_SIGINFO);  // the C library adds one of its own
  }
  ChunkFile through;
  CHECK(through.create(scratch.path(), kPid, true));
  CHECK(!FileGuard::is_installed());
}

void a_handler_that_comes_later_stays_and_calls_ours_without_end_of_calls() {
  const Scratch scratch;
  set_theirs();
  static struct sigaction ours;
  {
    ChunkFile file;
    CHECK(file.create(scratch.path(), kPid));
    ours = now();
    struct sigaction later {};
    later.sa_sigaction = [](int number, siginfo_t* info, void* context) {
      ours.sa_sigaction(number, info, context);
      behind_them(number, info, context);
    };
    later.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGBUS, &later, nullptr) == 0);
    file.release();
    CHECK(now().sa_sigaction == later.sa_sigaction);
    fault_of_their_own(scratch, 0);  // passed on by both, with the mask of the first
  }
  ChunkFile second;
  CHECK(second.create(scratch.path(), kPid));
  CHECK(FileGuard::is_installed());
  fault_of_their_own(scratch, 0);
  write_from_threads(second, true);
  CHECK(second.is_cut());
}

// What ends a process ends it as it would without us.
void the_end_by_a_fault_or_a_signal_is_the_same(bool is_sent) {
  const Scratch scratch;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    ChunkFile file;
    if (!file.create(scratch.path(), kPid)) _exit(1);
    if (is_sent) {
      raise(SIGBUS);
      _exit(2);
    }
    const int fd = open((scratch.path() + "/theirs").c_str(), O_RDWR | O_CREAT, 0600);
    *static_cast<volatile char*>(mmap(nullptr, kPage, PROT_WRITE, MAP_SHARED, fd, 0)) = 1;
    _exit(3);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQUAL(WTERMSIG(status), SIGBUS);
}

void many_recordings_one_after_the_other_find_room() {
  const Scratch scratch;
  std::vector<std::unique_ptr<ChunkFile>> kept;  // as in a JVM
  for (int i = 0; i < 200; ++i) {
    kept.push_back(std::make_unique<ChunkFile>());
    CHECK(kept.back()->create(scratch.path(), kPid, false, 4ULL << 20));
    kept.back()->release();
  }
}

}  // namespace

int main() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which put handlers of their own into a child
  for (const bool is_sent : {false, true}) the_end_by_a_fault_or_a_signal_is_the_same(is_sent);
#endif
  a_fault_of_the_program_goes_to_its_own_handler_while_a_file_is_mapped_and_afterwards();
  many_recordings_one_after_the_other_find_room();
  for (const bool no_map : {false, true}) {
    for (const bool to_nothing : {false, true})
      a_spool_that_is_cut_off_ends_its_records_and_no_more(no_map, to_nothing);
    a_spool_that_is_cut_while_nobody_writes_is_found_so_at_its_end(no_map);
  }
  a_spool_that_was_cut_does_not_grow_again();
  for (const uint64_t cut_to : {uint64_t{0}, uint64_t{4096}, uint64_t{LockTable::kSlotsAt}}) {
    a_table_of_locks_that_is_cut_off_counts_on_for_nobody(cut_to);
  }
#if !defined(__SANITIZE_THREAD__)  // which knows one handler of a signal
  a_handler_that_comes_later_stays_and_calls_ours_without_end_of_calls();
#endif
}
