// The recording's directory, named by its recorder's descriptor: it stays the same one, or is refused.
#include "agent/core/recording_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/check.h"
#include "testing/scratch.h"

using headway::agent::DirectoryId;
using headway::agent::parse_directory_id;
using headway::agent::RecordingDirectory;

namespace {

DirectoryId id_of(const std::string& path) {
  struct stat status {};
  CHECK(stat(path.c_str(), &status) == 0);
  return {status.st_dev, status.st_ino};
}

std::string by_descriptor(int fd) { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd); }

int opened(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(fd >= 0);
  return fd;
}

void a_plain_path_stays_what_it_is() {
  RecordingDirectory held;
  CHECK_EQUAL(held.open("/nowhere/at/all", {}), "/nowhere/at/all");
}

void it_outlives_the_descriptor_by_which_it_was_named() {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path() + "/spool");
  chmod((scratch.path() + "/spool").c_str(), 0700);
  const int fd = opened(scratch.path());
  RecordingDirectory held;
  const std::string path = held.open(by_descriptor(fd) + "/spool", id_of(scratch.path() + "/spool"));
  CHECK(path.starts_with("/proc/self/fd/"));
  close(fd);
  std::filesystem::rename(scratch.path() + "/spool", scratch.path() + "/aside");
  std::ofstream(path + "/file") << "x";
  CHECK(std::filesystem::exists(scratch.path() + "/aside/file"));
}

void another_directory_under_the_same_number_is_refused() {
  const Scratch recording;
  const Scratch other;
  chmod(recording.path().c_str(), 0700);
  chmod(other.path().c_str(), 0700);
  const DirectoryId id = id_of(recording.path());
  const int fd = opened(recording.path());
  RecordingDirectory held;
  CHECK(!held.open(by_descriptor(fd), id).empty());
  const int another = opened(other.path());
  CHECK(dup2(another, fd) == fd);  // what a process that got the recorder's number would do
  CHECK_EQUAL(held.open(by_descriptor(fd), id), "");
  CHECK_EQUAL(held.open(by_descriptor(fd), DirectoryId{}), "");
  close(fd);
  CHECK_EQUAL(held.open(by_descriptor(fd), id), "");
  close(another);
}

void one_in_which_others_may_write_is_refused() {
  const Scratch scratch;
  const int fd = opened(scratch.path());
  RecordingDirectory held;
  for (const mode_t mode : {0770, 0707, 01777}) {
    chmod(scratch.path().c_str(), mode);
    CHECK_EQUAL(held.open(by_descriptor(fd), id_of(scratch.path())), "");
  }
  chmod(scratch.path().c_str(), 0755);
  CHECK(!held.open(by_descriptor(fd), id_of(scratch.path())).empty());
  close(fd);
}

void a_number_that_is_a_file_of_the_programs_is_not_closed() {
  const Scratch scratch;
  chmod(scratch.path().c_str(), 0700);
  const int fd = opened(scratch.path());
  RecordingDirectory held;
  const std::string path = held.open(by_descriptor(fd), id_of(scratch.path()));
  const int number = std::stoi(path.substr(path.rfind('/') + 1));
  CHECK(dup2(STDERR_FILENO, number) == number);
  CHECK_EQUAL(held.open("/plain", {}), "/plain");
  CHECK(fcntl(number, F_GETFD) >= 0);
  close(number);
  close(fd);
}

void an_id_is_two_numbers() {
  const DirectoryId id = parse_directory_id("18446744073709551615:77");
  CHECK_EQUAL(id.device, UINT64_MAX);
  CHECK_EQUAL(id.inode, 77U);
  for (const char* text : {"", ":", "77", "x:1", "77,3"}) CHECK_EQUAL(parse_directory_id(text).device, 0U);
}

}  // namespace

int main() {
  a_plain_path_stays_what_it_is();
  it_outlives_the_descriptor_by_which_it_was_named();
  another_directory_under_the_same_number_is_refused();
  one_in_which_others_may_write_is_refused();
  a_number_that_is_a_file_of_the_programs_is_not_closed();
  an_id_is_two_numbers();
}
