#include "cpus/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <string>

namespace headway {
namespace {

constexpr int kMostCpus = 1 << 16;  // a list that says more is none of this kernel's
constexpr size_t kMostSetBytes = kMostCpus / CHAR_BIT;
constexpr size_t kBitsOfWord = sizeof(uint64_t) * CHAR_BIT;

// Empty when it can't be read.
std::string text_of(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(got));
  close(fd);
  return text;
}

// Takes a number off the front of a text; false: there is none.
bool take_number(std::string_view* text, int* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc() || *number < 0 || *number >= kMostCpus) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool take(std::string_view* text, char wanted) {
  if (text->empty() || text->front() != wanted) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  do {
    int first = 0;
    if (!take_number(&text, &first)) break;
    int last = first;
    if (take(&text, '-') && !take_number(&text, &last)) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  } while (take(&text, ','));
  return cpus;
}

std::vector<int> cpus_of_stat(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    int cpu = 0;
    if (!line.starts_with("cpu")) continue;
    line.remove_prefix(3);
    if (take_number(&line, &cpu) && take(&line, ' ')) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::vector<int> online_cpus() {
  std::vector<int> cpus = parse_cpu_list(text_of("/sys/devices/system/cpu/online"));
  if (cpus.empty()) cpus = cpus_of_stat(text_of("/proc/stat"));  // a container may hide /sys
  if (cpus.empty()) cpus = allowed_cpus();
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

int cpu_places() { return places_of(parse_cpu_list(text_of("/sys/devices/system/cpu/possible")), online_cpus()); }

int places_of(std::span<const int> possible, std::span<const int> online) {
  const std::span<const int> all = possible.empty() ? online : possible;
  return all.empty() ? 1 : *std::max_element(all.begin(), all.end()) + 1;
}

std::vector<int> allowed_cpus(size_t first_bytes) {
  std::vector<uint64_t> words;
  for (size_t bytes = first_bytes; bytes <= kMostSetBytes; bytes *= 2) {
    words.assign(bytes / sizeof(uint64_t) + 1, 0);
    // EINVAL: the kernel's set is larger, or this is no multiple of what it counts in.
    if (sched_getaffinity(0, bytes, reinterpret_cast<cpu_set_t*>(words.data())) == 0) break;
    words.clear();
    if (errno != EINVAL) break;
  }
  std::vector<int> cpus;
  for (size_t cpu = 0; cpu < words.size() * kBitsOfWord; ++cpu) {
    if ((words[cpu / kBitsOfWord] >> (cpu % kBitsOfWord) & 1) != 0) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

int allowed_cpu_count() {
  const std::vector<int> allowed = allowed_cpus();
  return static_cast<int>(allowed.empty() ? online_cpus().size() : allowed.size());
}

bool bind_to_cpus(std::span<const int> cpus) {
  std::vector<uint64_t> words;
  for (const int cpu : cpus) {
    const size_t at = static_cast<size_t>(cpu) / kBitsOfWord;
    if (cpu < 0 || cpu >= kMostCpus) {
      errno = EINVAL;
      return false;
    }
    if (words.size() <= at) words.resize(at + 1);
    words[at] |= uint64_t{1} << (static_cast<size_t>(cpu) % kBitsOfWord);
  }
  return sched_setaffinity(0, words.size() * sizeof(uint64_t), reinterpret_cast<cpu_set_t*>(words.data())) == 0;
}

}  // namespace headway
