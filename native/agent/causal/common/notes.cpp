#include "agent/causal/common/notes.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "agent/core/clock.h"
#include "agent/core/old_glibc.h"
#include "agent/core/text.h"

namespace headway::agent::causal {
namespace {

constexpr char kNowhere[] = "/dev/null";

// A descriptor, and what was behind it when it was opened: a program may close what it knows nothing of, and be given
// the same number for a file of its own.
struct Opened {
  int number = -1;
  dev_t device = 0;
  ino_t inode = 0;

  bool is_ours() const {
    struct stat status {};
    return number >= 0 && file_status(number, &status) == 0 && status.st_dev == device && status.st_ino == inode;
  }
};

struct Notes {
  // Once open it stays open, and is turned to another file: a thread that is late must not write where somebody else
  // has been given the same number.
  Opened file;
  Opened folder;           // of the file
  bool is_locked = false;  // the recorder had a lock on it when the notes began
  std::string path;
  std::atomic<uint32_t> reopened{0};
  std::atomic<bool> is_open{false};
  std::atomic<bool> waits{false};  // for begin_notes
  std::vector<std::string> waiting;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of `waiting`
  pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> is_cut{false};  // the last line was written in part
  std::atomic<uint64_t> lost{0};
};
Notes& notes() {
  static Notes* const instance = new Notes;
  return *instance;
}

std::string note_line(std::string_view type, std::string_view fields) {
  std::string line = "{\"t\":\"" + std::string(type) + "\",\"ns\":" + std::to_string(monotonic_ns());
  if (!fields.empty()) line += ',';
  line += fields;
  line += "}\n";
  return line;
}

Opened opened(int number) {
  struct stat status {};
  if (number < 0 || file_status(number, &status) != 0) return {};
  return {number, status.st_dev, status.st_ino};
}

// Under the lock. By its path, as it was: nobody else writes there.
bool open_again() {
  Notes& self = notes();
  self.file = opened(open(self.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  self.reopened.fetch_add(1);
  return self.file.number >= 0;
}

void write_line(std::string line, bool is_last = false) {
  Notes& self = notes();
  pthread_mutex_lock(&self.writing);
  if (self.file.is_ours() || ((self.is_open || is_last) && open_again())) {
    if (self.is_cut) line.insert(line.begin(), '\n');
    const ssize_t written = write(self.file.number, line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size())) {
      self.is_cut = false;
    } else {
      self.is_cut = self.is_cut || written > 0;
      self.lost.fetch_add(1);
    }
  } else {
    self.lost.fetch_add(1);
  }
  pthread_mutex_unlock(&self.writing);
}

// Of agent-NAME.spool.
std::string notes_path(const std::string& spool) {
  constexpr std::string_view kPrefix = "agent-";
  constexpr std::string_view kEnding = ".spool";
  const size_t name = spool.rfind('/') + 1 + kPrefix.size();
  return spool.substr(0, name - kPrefix.size()) + "causal-" + spool.substr(name, spool.size() - name - kEnding.size()) +
         ".jsonl";
}

bool turn_to(int file) {
  Notes& self = notes();
  if (file < 0) return false;
  pthread_mutex_lock(&self.writing);
  bool done = true;
  if (self.file.is_ours()) {
    const int number = self.file.number;
    done = dup3(file, number, O_CLOEXEC) >= 0;
    close(file);
    self.file = opened(number);
  } else {
    self.file = opened(file);
  }
  pthread_mutex_unlock(&self.writing);
  return done;
}

Opened opened_folder() {
  const std::string& path = notes().path;
  return opened(open(path.substr(0, path.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// The recorder holds a shared lock on the directory for as long as it lives (src/headway/record/agent/orphans.py).
bool folder_is_locked() {
  Opened& folder = notes().folder;
  if (!folder.is_ours()) folder = opened_folder();
  if (flock(folder.number, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  flock(folder.number, LOCK_UN);
  return false;
}

}  // namespace

bool open_notes(const std::string& spool) noexcept {
  Notes& self = notes();
  constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  self.path = notes_path(spool);
  if (!turn_to(open(self.path.c_str(), kFlags, 0644))) return false;
  if (self.folder.is_ours()) close(self.folder.number);
  self.folder = opened_folder();
  self.is_locked = folder_is_locked();
  self.is_cut = false;
  self.lost = 0;
  self.waits = true;
  self.is_open = true;
  return true;
}

void begin_notes(std::string_view fields) noexcept {
  Notes& self = notes();
  if (!self.is_open) return;
  write_line(note_line("begin", fields));
  pthread_mutex_lock(&self.lock);
  for (std::string& line : self.waiting) write_line(std::move(line));
  self.waiting.clear();
  self.waits = false;
  pthread_mutex_unlock(&self.lock);
}

void close_notes() noexcept {
  Notes& self = notes();
  if (!self.is_open.exchange(false)) return;
  write_line(note_line("end", {}), true);
  turn_to(open(kNowhere, O_WRONLY | O_CLOEXEC));
}

uint64_t lost_notes() noexcept { return notes().lost; }
uint32_t reopened_notes() noexcept { return notes().reopened; }

bool notes_are_given_up() noexcept {
  struct stat status {};
  if (!notes().is_open) return false;
  const Opened& file = notes().file;
  if (file.is_ours() && file_status(file.number, &status) == 0 && status.st_nlink == 0) return true;
  return notes().is_locked && !folder_is_locked();
}

void note(std::string_view type, std::string_view fields) noexcept {
  Notes& self = notes();
  if (!self.is_open) return;
  std::string line = note_line(type, fields);
  if (self.waits) {
    pthread_mutex_lock(&self.lock);
    const bool still = self.waits;
    if (still) self.waiting.push_back(line);
    pthread_mutex_unlock(&self.lock);
    if (still) return;
  }
  write_line(std::move(line));
}

std::string json_text(std::string_view text) noexcept {
  std::string utf8(text.size() * 3, '\0');  // a byte that is none becomes U+FFFD
  utf8.resize(to_utf8(text, utf8.data(), utf8.size()));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (byte < 0x20) {
      quoted += "\\u00";
      quoted += kDigits[byte >> 4];
      quoted += kDigits[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

void problem(std::string_view id, std::string_view text) noexcept {
  note("problem", "\"id\":" + json_text(id) + ",\"text\":" + json_text(text));
}

}  // namespace headway::agent::causal
