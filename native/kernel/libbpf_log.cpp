#include "kernel/libbpf_log.h"

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

namespace headway {
namespace {

constexpr size_t kLinesKept = 6;
constexpr size_t kLineBytes = 1000;

std::mutex mutex;
std::deque<std::string>& lines() {
  static auto* kept = new std::deque<std::string>;  // never destroyed: libbpf may log while the process ends
  return *kept;
}

int keep_line(libbpf_print_level level, const char* format, va_list args) {
  if (level == LIBBPF_DEBUG) return 0;
  char* text = nullptr;
  if (vasprintf(&text, format, args) < 0) return 0;
  std::string line = text;
  free(text);
  // The verifier's log comes as one line of up to megabytes, and says at its end what it did not like.
  if (line.size() > kLineBytes) line = "..." + line.substr(line.size() - kLineBytes);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  if (line.empty()) return 0;
  const std::lock_guard lock(mutex);
  lines().push_back(std::move(line));
  if (lines().size() > kLinesKept) lines().pop_front();
  return 0;
}

}  // namespace

void capture_libbpf_log() { libbpf_set_print(keep_line); }

void clear_libbpf_log() {
  const std::lock_guard lock(mutex);
  lines().clear();
}

std::string libbpf_log() {
  const std::lock_guard lock(mutex);
  std::string joined;
  for (const std::string& line : lines()) joined += (joined.empty() ? "" : "; ") + line;
  return joined;
}

}  // namespace headway
