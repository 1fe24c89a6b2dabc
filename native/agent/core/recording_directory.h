// A recording's directory that its recorder names by a descriptor of its own (/proc/PID/fd/N): opened once, compared,
// and kept open. Once the recorder has ended, its number and that of the descriptor may be another's, and the name may
// lead anywhere.
#pragma once

#include <cstdint>
#include <string>

namespace headway::agent {

// Which directory it is: what stat(2) says.
struct DirectoryId {
  uint64_t device = 0;
  uint64_t inode = 0;
};

// The directory of the present recording; open for as long as it is needed.
class RecordingDirectory {
 public:
  ~RecordingDirectory() { let_go(); }

  // The path by which to reach what `path` names: itself, or, where it leads through /proc, one through a descriptor of
  // our own. Empty where it is not the directory `id`, another user's, or one in which others may write. What was held
  // before is let go of.
  std::string open(const std::string& path, DirectoryId id) noexcept;

 private:
  void let_go() noexcept;

  int fd_ = -1;
  DirectoryId id_;
};

// "DEVICE:INODE"; zeros for anything else.
DirectoryId parse_directory_id(const std::string& text) noexcept;

}  // namespace headway::agent
