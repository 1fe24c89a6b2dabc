#include "agent/causal/notes.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "agent/agent.h"
#include "agent/causal/causal.h"
#include "agent/old_glibc.h"
#include "agent/text.h"

namespace headway::agent::causal {
namespace {

constexpr char kNowhere[] = "/dev/null";

struct Notes {
  // Once open it stays open, and is turned to another file: a thread that is late must not write where somebody else
  // has been given the same number.
  int file = -1;
  int folder = -1;       // of the file
  bool is_held = false;  // the recorder held a lock on it when the notes began
  std::atomic<bool> is_open{false};
  std::atomic<bool> waits{false};  // for begin_notes
  std::vector<std::string> waiting;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of `waiting`
  std::atomic<bool> is_cut{false};                   // the last line was written in part
  std::atomic<uint64_t> lost{0};
};
Notes& notes() {
  static Notes* const instance = new Notes;
  return *instance;
}

std::string note_line(std::string_view type, std::string_view fields) {
  std::string line = "{\"t\":\"" + std::string(type) + "\",\"ns\":" + std::to_string(now_ns());
  if (!fields.empty()) line += ',';
  line += fields;
  line += "}\n";
  return line;
}

void write_line(std::string line) {
  Notes& self = notes();
  if (self.is_cut.exchange(false)) line.insert(line.begin(), '\n');
  const ssize_t written = write(self.file, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  self.lost.fetch_add(1);
  if (written > 0) self.is_cut = true;
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
  if (self.file < 0) {
    self.file = file;
    return true;
  }
  const bool done = dup3(file, self.file, O_CLOEXEC) >= 0;
  close(file);
  return done;
}

// The recorder holds a shared lock on the directory for as long as it lives (src/headway/record/held.py).
bool folder_is_held() {
  const int folder = notes().folder;
  if (flock(folder, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  flock(folder, LOCK_UN);
  return false;
}

}  // namespace

bool open_notes(const std::string& spool) noexcept {
  Notes& self = notes();
  constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  if (!turn_to(open(notes_path(spool).c_str(), kFlags, 0644))) return false;
  if (self.folder >= 0) close(self.folder);
  self.folder = open(spool.substr(0, spool.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  self.is_held = folder_is_held();
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
  write_line(note_line("end", {}));
  turn_to(open(kNowhere, O_WRONLY | O_CLOEXEC));
}

uint64_t lost_notes() noexcept { return notes().lost; }

bool notes_are_given_up() noexcept {
  struct stat status {};
  if (!notes().is_open) return false;
  if (file_status(notes().file, &status) == 0 && status.st_nlink == 0) return true;
  return notes().is_held && !folder_is_held();
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
